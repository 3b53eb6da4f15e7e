"""``gapscope alerts list|preview|silence`` on a server's database."""

from __future__ import annotations

import asyncio

import pytest

from gapscope_backend.cli.main import main
from gapscope_backend.store.alerts import list_silences
from gapscope_backend.store.database import Database
from tests.alerts.stage import Stage, arriving
from tests.alerts.test_drop_alerts import DROP, a_drop
from tests.incidents.story import Story


async def test_alerts_are_listed_silenced_and_previewed(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run(*words: str) -> tuple[int, str]:
        code = await asyncio.to_thread(main, ["alerts", *words, "--database", database_url])
        told = capsys.readouterr()
        return code, told.out + told.err

    stage = Stage(database, DROP, Story())
    await stage.play(arriving(a_drop()), 125)
    code, told = await run("list")
    assert code == 0
    assert "firing" in told
    assert "node-1  drop: GPU 0 was active for 2%" in told
    assert await run("list", "--state", "resolved") == (0, "no alerts\n")
    assert "drop                 on  file     utilization_drop" in (await run("list", "--rules"))[1]

    code, told = await run("silence", "host=node-*", "--for", "2h", "--reason", "new driver")
    assert code == 0
    (silence,) = await list_silences(database)
    assert (silence.reason, silence.end_ns - silence.start_ns) == ("new driver", 7200 * 10**9)
    assert "host=node-*  new driver" in (await run("list", "--silences"))[1]
    assert await run("silence", "--end", silence.id) == (0, f"silence {silence.id} has ended\n")
    assert (await run("list", "--silences"))[1] == ""
    code, told = await run("silence", "host=node-*")
    assert code != 0
    assert "add --for TIME" in told
    code, told = await run("silence", "node-7", "--for", "1h")
    assert code != 0
    assert "name=pattern" in told

    code, told = await run("preview", "drop", "--hours", "1")
    assert (code, told.split(" since ")[0]) == (0, "drop: would have fired 0 times on 0 hosts")
    code, told = await run("preview", "nothing")
    assert code != 0
    assert "there is no rule 'nothing'; known are drop" in told
