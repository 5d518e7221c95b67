"""Operations on records."""
