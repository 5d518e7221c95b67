"""What the vaults of a memory hold, lack and have yet to receive."""
