"""What each commit changed, recorded for the journal in the vault."""
