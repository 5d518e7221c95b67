"""The way back: empty folders, lost keys, damaged stores."""
