"""Operations on the server itself."""
