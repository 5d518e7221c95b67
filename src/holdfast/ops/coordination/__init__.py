"""Operations by which agents share work."""
