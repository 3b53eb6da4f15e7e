"""An incident in a file is the incident: the same verdict, samples, stacks and facts, and nothing of anybody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import func, select

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.cli.main import main
from gapscope_backend.errors import NotFoundError
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.hosts import find_host, host_state
from gapscope_backend.services.incident_files import explain_file, export_incident, opened_file
from gapscope_backend.services.incidents import PINNED_AROUND_NS
from gapscope_backend.store.models import Annotation, Base, Chunk, DeviceMinute, Event, Host, Incident, IngestHot, Token
from tests.backend.batches import SECOND
from tests.incident_files.conftest import SECONDS, Source
from tests.incidents.story import START
from tests.store.storing import count, samples_of, stacks_of

pytestmark = pytest.mark.both_engines


async def test_the_verdict_is_that_of_the_source(source: Source) -> None:
    host, incident = await find_host(source.database, "node-1"), source.incident
    wanted = await Diagnosis(source.database, diagnose).diagnose(host, incident.start_ns, incident.end_ns)
    around = (incident.start_ns - 120 * SECOND, incident.end_ns + 120 * SECOND)
    wanted_around = await Diagnosis(source.database, diagnose).diagnose(host, *around)
    assert wanted.gpu_count == 1
    assert wanted.gpus[0].gaps
    async with opened_file(source.file) as opened:
        assert await explain_file(opened, None, None) == wanted
        assert await explain_file(opened, *around) == wanted_around


async def test_samples_and_stacks_of_the_span_are_all_there(source: Source) -> None:
    incident = source.incident
    span = (incident.start_ns - PINNED_AROUND_NS, incident.end_ns + PINNED_AROUND_NS)
    samples = await samples_of(source.database, source.host_id, *span)
    stacks = await stacks_of(source.database, source.host_id)
    assert len(samples) > 6000
    async with opened_file(source.file) as opened:
        found = await samples_of(opened.database, opened.host.id, *span)
        assert {key: value for key, value in found.items() if key in samples} == samples
        in_span = [row for row in stacks if span[0] <= row[0] < span[1]]
        assert in_span
        assert set(in_span) <= set(await stacks_of(opened.database, opened.host.id)) <= set(stacks)
        assert await count(opened.database, Chunk)
        assert await count(opened.database, IngestHot)
        assert await count(opened.database, DeviceMinute) > 0


async def test_the_incident_and_its_surroundings_are_as_they_were(source: Source) -> None:
    async with opened_file(source.file) as opened:
        told = {column.key: getattr(opened.incident, column.key) for column in Incident.__table__.columns}
        assert told == {column.key: getattr(source.incident, column.key) for column in Incident.__table__.columns}
        async with opened.database.read() as session:
            times = (await session.scalars(select(Event.t_ns).where(Event.kind == "process_start"))).all()
            notes = (await session.scalars(select(Annotation.text))).all()
        low, high = source.incident.start_ns - PINNED_AROUND_NS, source.incident.end_ns + PINNED_AROUND_NS
        assert sorted(times) == [t for at in range(0, SECONDS, 60) if low <= (t := START + at * SECOND) < high]
        assert notes == ["in"]
        assert opened.host.recorded
        assert (opened.host.first_data_ns, opened.host.last_data_ns) == (low, high)
        assert host_state(opened.host, opened.now_ns) == "stale"


async def test_nothing_of_other_hosts_and_no_secrets_are_in_it(source: Source) -> None:
    assert await count(source.database, Host) == 2
    assert await count(source.database, Token) == 1
    async with opened_file(source.file) as opened:
        async with opened.database.read() as session:
            for name, table in Base.metadata.tables.items():
                if "host_id" in table.columns:
                    strangers = select(func.count()).where(table.c.host_id != opened.host.id)
                    assert await session.scalar(strangers.select_from(table)) == 0, name
            assert (await session.scalars(select(Host.name))).all() == ["node-1"]
        assert await count(opened.database, Token) == 0
    assert b"node-2" not in source.file.read_bytes()


async def test_the_file_is_one_file_and_only_read(source: Source, tmp_path: Path) -> None:
    before = source.file.read_bytes()
    source.file.chmod(0o400)
    async with opened_file(source.file) as opened, opened.database.write() as session:
        await session.delete(await session.get(Incident, (opened.host.id, opened.incident.id)))
    assert source.file.read_bytes() == before
    assert [name for name in os.listdir(tmp_path) if name.startswith("one")] == ["one.gapscope"]


async def test_an_unknown_incident_leaves_no_file(source: Source, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no incident 'nothing'"):
        await export_incident(source.database, "nothing", tmp_path / "two.gapscope")
    assert not [name for name in os.listdir(tmp_path) if name.startswith("two")]


def test_the_commands_export_and_explain(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio

    from gapscope_backend.store.database import connect
    from tests.incident_files.conftest import fill

    async def make() -> str:
        database = connect(database_url)
        incident = await fill(database)
        await database.close()
        return incident.id

    name, file = asyncio.run(make()), tmp_path / "x.gapscope"
    assert main(["incident", "export", name, "-o", str(file), "--database", database_url]) == 0
    assert "gapscope open" in capsys.readouterr().out
    assert main(["explain", str(file)]) == 0
    said = capsys.readouterr().out
    assert f"Incident {name} of node-1, recorded" in said
    assert "closed: GPU 0 waited" in said
    assert main(["explain", str(file), "--from", "+10s", "--to", "+40s", "--json"]) == 0
    assert '"host":' in capsys.readouterr().out.replace(" ", "")
    assert main(["incident", "export", "nothing", "-o", str(file), "--database", database_url]) == 2
