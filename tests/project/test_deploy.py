"""What deploy/ and the docs say of the server is what the command takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gapscope_backend.cli.database import KEYS
from gapscope_backend.cli.db import ACTIONS
from gapscope_backend.cli.main import build_parser

ROOT = Path(__file__).parents[2]
COMPOSE = sorted((ROOT / "deploy").glob("compose.*.yaml"))


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.stem)
def test_commands_of_a_compose_file_can_be_called(path: Path) -> None:
    commands = [json.loads(words) for words in re.findall(r"command: (\[\"(?:server|db)\".*\])", path.read_text())]
    assert {"api", "worker"} <= {word for words in commands for word in words}
    for words in commands:
        assert build_parser(words[0]).parse_args(words).command == words[0]


def test_every_setting_of_the_server_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "database.md").read_text()
    assert [key for key in KEYS if f"`{key}`" not in text and f"\n{key} = " not in text] == []


def test_every_action_on_the_database_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "commands.md").read_text() + (ROOT / "docs" / "database.md").read_text()
    assert [name for name, _ in ACTIONS if not re.search(rf"gapscope\s+db {name}|`{name}`", text)] == []
