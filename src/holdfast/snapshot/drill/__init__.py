"""Restore drills: a snapshot is restored beside the live memory, checked, compared and removed; the record stays."""
