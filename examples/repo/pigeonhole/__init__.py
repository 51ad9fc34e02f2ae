"""A job queue in one SQLite file."""
