"""The store on PostgreSQL with pgvector: many servers on one database."""
