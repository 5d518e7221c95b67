"""What comes in: events become clean, compressed, stored and indexed observations."""
