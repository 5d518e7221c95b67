"""Files in which other programs keep their memory: watched places, their history, and the way back."""
