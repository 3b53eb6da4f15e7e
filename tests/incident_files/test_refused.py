"""Files that are no incident files, are damaged, or want something done are refused with a reason."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic import command

from gapscope_backend.cli.main import main
from gapscope_backend.errors import StoreError
from gapscope_backend.services.incident_files import export_incident, opened_file
from gapscope_backend.store import foreign_file, incident_file
from gapscope_backend.store.database import connect, migration_config, sqlite_url
from gapscope_backend.store.foreign_file import IncidentFileError
from gapscope_backend.store.incident_file import APPLICATION_ID
from gapscope_backend.store.incidents import IncidentFilter, list_incidents
from gapscope_backend.store.integrity import check_database


async def refused(path: Path) -> str:
    with pytest.raises(IncidentFileError) as caught:
        async with opened_file(path):
            pass
    assert path.name in str(caught.value)
    return str(caught.value)


def changed(file: Path, *statements: str) -> Path:
    """The file with something done to it."""
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return file


async def test_the_file_itself_opens(file: Path) -> None:
    async with opened_file(file) as opened:
        assert opened.incident.cause == "cpu_preprocess"


def content(file: Path) -> bytes:
    """The bytes of the file."""
    return file.read_bytes()


def rewritten(file: Path, change: Callable[[bytes], bytes]) -> Path:
    """The file with other bytes."""
    file.write_bytes(change(file.read_bytes()))
    return file


def overwritten(data: bytes) -> bytes:
    """The beginning of most pages is gone."""
    out = bytearray(data)
    for at in range(4096 * 3, len(data), 4096):
        out[at : at + 64] = b"\xff" * 64
    return bytes(out)


def foreign(path: Path, *statements: str) -> Path:
    """Somebody else's database."""
    connection = sqlite3.connect(path)
    for statement in ("CREATE TABLE IF NOT EXISTS places (url TEXT)", *statements):
        connection.execute(statement)
    connection.close()
    return path


async def test_a_file_of_an_older_version_is_brought_up_to_date_in_the_copy(file: Path) -> None:
    older = connect(sqlite_url(file))
    await older.migrate(lambda connection: command.downgrade(migration_config(connection), "20261201_0004"))
    await older.close()
    changed(file, "PRAGMA journal_mode=DELETE")
    before = content(file)
    async with opened_file(file) as opened:
        assert await check_database(opened.database) == []
        assert opened.incident.cause == "cpu_preprocess"
    assert content(file) == before


async def test_what_is_shown_in_a_terminal_has_no_control_codes(file: Path) -> None:
    changed(file, "UPDATE incident SET sentence = 'red: ' || char(27) || '[31m'")
    async with opened_file(file) as opened:
        assert opened.about.endswith("red: ?[31m")


@pytest.mark.parametrize("left", [0, 10, 99, 100, 4096, 20_000, -1])
async def test_a_file_that_is_cut_short(file: Path, left: int) -> None:
    assert "get it once more" in await refused(rewritten(file, lambda data: data[:left]))


async def test_a_file_with_something_behind_it(file: Path) -> None:
    assert "should have" in await refused(rewritten(file, lambda data: data + bytes(4096)))


async def test_pages_that_were_overwritten(file: Path) -> None:
    assert "damaged" in await refused(rewritten(file, overwritten))


@pytest.mark.parametrize("data", [b"PK\x03\x04 a zip", bytes(5000), b"<html>not found</html>"])
async def test_what_is_no_database(file: Path, data: bytes) -> None:
    assert "no incident file" in await refused(rewritten(file, lambda _: data))


async def test_a_foreign_database(tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    assert "no incident file of Gapscope" in await refused(foreign(path))
    marked = foreign(path, f"PRAGMA application_id={APPLICATION_ID}")
    assert "does not say of which version" in await refused(marked)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON login_token BEGIN DELETE FROM incident; END",
        "CREATE VIEW v AS SELECT load_extension('x')",
        "CREATE TABLE more (x)",
        "ALTER TABLE host ADD COLUMN x GENERATED ALWAYS AS (zeroblob(1000000000)) VIRTUAL",
        "DROP VIEW gpu_minute",
        "DROP INDEX ix_event_received_ns",
        "CREATE INDEX i ON host (abs(id))",
    ],
)
async def test_other_tables_than_ours(file: Path, statement: str) -> None:
    assert "other tables than Gapscope makes" in await refused(changed(file, statement))


async def test_a_view_of_ours_that_does_something_else(file: Path) -> None:
    path = changed(file, "DROP VIEW gpu_minute", "CREATE VIEW gpu_minute AS SELECT randomblob(1000000000) AS time")
    assert "other tables than Gapscope makes" in await refused(path)


async def test_a_newer_version_says_what_to_do(file: Path) -> None:
    path = changed(file, "UPDATE alembic_version SET version_num = '20991231_0001'")
    assert "newer Gapscope (schema 20991231_0001); upgrade this one" in await refused(path)


async def test_more_than_one_incident_or_none(file: Path) -> None:
    assert "0 incidents of 1 hosts" in await refused(changed(file, "DELETE FROM incident"))


async def test_a_file_that_is_too_large(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_file, "MAX_FILE_BYTES", 1000)
    assert "at most 1,000 are opened" in await refused(file)


async def test_a_file_that_would_be_too_large_is_not_written(
    made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incident_file, "MAX_FILE_BYTES", 1000)
    shutil.copy(made[0], tmp_path / "gapscope.db")
    database = connect(sqlite_url(tmp_path / "gapscope.db"))
    [(incident, _)] = await list_incidents(database, IncidentFilter(limit=9))
    with pytest.raises(StoreError, match="at most 1,000"):
        await export_incident(database, incident.id, tmp_path / "two.gapscope")
    await database.close()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("two")]


@pytest.mark.parametrize("words", [["explain"], ["open", "--port", "0"]])
def test_the_commands_say_it_in_one_line(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.gapscope").write_bytes(b"nothing")
    assert main([*words, str(tmp_path / "x.gapscope")]) == 2
    assert capsys.readouterr().err.startswith(f"gapscope {words[0]}: x.gapscope is no incident file;")
