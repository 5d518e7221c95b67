"""Recovery: empty folders, lost keys, damaged stores."""
