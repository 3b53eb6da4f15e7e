"""Database models and the queries over them; SQLAlchemy lives here and nowhere else."""

import logging

# Alembic tells at INFO of each plugin that it loads, as soon as it is imported.
logging.getLogger("alembic").setLevel(logging.WARNING)
