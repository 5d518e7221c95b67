"""All tenants of one store into another one, with their tokens: SQLite to PostgreSQL and back."""
