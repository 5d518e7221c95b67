"""What the vaults of a memory hold, lack and still get."""
