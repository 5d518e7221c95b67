"""The word index, whichever engine keeps its rows."""
