"""Database models and the queries over them; SQLAlchemy lives here and nowhere else."""

import logging

from gapscope_backend.store import alert_models

__all__ = ["alert_models"]
"""Known to whoever knows ``models``: both are one set of tables."""

# Alembic tells at INFO of each plugin that it loads, as soon as it is imported.
logging.getLogger("alembic").setLevel(logging.WARNING)
