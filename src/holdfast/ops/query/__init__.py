"""Operations that answer."""
