"""Where settings of the server come from: option over environment over file; passwords stay out of sight."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gapscope_backend.cli import server
from gapscope_backend.cli.database import chosen_database, read_server_file
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.folder import worker_name
from gapscope_backend.cli.main import build_parser

SECRET = "postgresql://u:s3cret@h/d"


def parsed(*words: str) -> argparse.Namespace:
    arguments = build_parser("server").parse_args(["server", *words])
    server._fill_in(arguments)
    return arguments


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gapscope.toml"
    path.write_text(f'[server]\ndatabase = "{SECRET}"\nrole = "worker"\nport = 9000\nretention_hours = 12.0\n')
    return path


def test_defaults_suit_one_machine() -> None:
    told = parsed()
    assert (told.role, told.port, told.listen, told.database) == ("all", 8765, "127.0.0.1", None)


def test_the_file_is_read_and_options_win(file: Path) -> None:
    told = parsed("--config", str(file), "--port", "9001")
    assert (told.role, told.port, told.retention_hours, told.database) == ("worker", 9001, 12.0, SECRET)


def test_the_environment_wins_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAPSCOPE_DATABASE", "postgresql://other/d")
    assert parsed("--config", str(file)).database == "postgresql://other/d"
    told = parsed("--config", str(file), "--database", "postgresql://mine/d")
    assert chosen_database(told) == "postgresql://mine/d"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[server]\ndatabse = "x"', "databse.*known is database"),
        ("[server]\nport = 'many'", "port"),
        ('[server]\nrole = "boss"', "role.*all, api, worker"),
        ("[server", "gapscope.toml"),
        ("server = 3", "gapscope.toml"),
    ],
)
def test_what_the_file_cannot_say_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "gapscope.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read_server_file(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml"):
        read_server_file(tmp_path / "none.toml")


def test_a_password_goes_to_children_unseen(file: Path) -> None:
    children = server._roles(parsed("--config", str(file)))
    assert len(children) == 2
    assert not any("s3cret" in word for child in children for word in child.words)
    assert [child.environment["GAPSCOPE_DATABASE"] for child in children] == [SECRET] * 2


def test_living_workers_have_names_of_their_own_and_keep_them(tmp_path: Path) -> None:
    with worker_name(tmp_path) as first, worker_name(tmp_path) as second:
        assert first != second
        assert max(len(first), len(second)) <= 64
    with worker_name(tmp_path) as again:
        assert again == first
