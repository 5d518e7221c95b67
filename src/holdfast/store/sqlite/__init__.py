"""The store on one machine: SQLite through apsw."""
