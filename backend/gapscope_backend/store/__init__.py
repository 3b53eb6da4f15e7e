"""Database models and the queries over them; SQLAlchemy lives here and nowhere else."""
