"""Recall that is not lost: questions that were asked, with ids of what answered them, and whether they still are."""
