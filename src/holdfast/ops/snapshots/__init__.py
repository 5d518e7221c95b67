"""Operations on snapshots, vaults and keys."""
