"""``gapscope incident export ID``: one incident with all that belongs to it as one file."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.database import add_database_options, database_of


def add_parser(commands: Any) -> None:
    """Options of ``gapscope incident``."""
    parser = commands.add_parser("incident", help="write an incident into a file that opens anywhere")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser(
        "export",
        help="write an incident into a file that opens anywhere",
        description="The file holds the incident, its verdict, and samples, stacks, events and facts of its host from "
        "five minutes before to five minutes after. Stacks and command lines may hold secrets: look at it before you "
        "send it.",
    )
    export.add_argument("id", metavar="ID", help="of the incident, as on the page and in GET /api/v1/incidents")
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to (default: ID.gapscope)")
    add_known_data_option(export)
    add_database_options(export)


def run(arguments: argparse.Namespace) -> int:
    """Write the file; it appears whole or not at all."""
    from gapscope_backend.services.incident_files import SUFFIX

    path = arguments.output or Path(f"{Path(arguments.id).name}{SUFFIX}")
    asyncio.run(_export(database_of(arguments), arguments.id, path))
    print(f"{path}: {path.stat().st_size:,} bytes; `gapscope open {path}` shows it")
    return 0


async def _export(url: str, incident_id: str, path: Path) -> None:
    from gapscope_backend.services.incident_files import export_incident
    from gapscope_backend.store.database import connect

    database = connect(url, patient=True)
    try:
        await export_incident(database, incident_id, path)
    finally:
        await database.close()
