"""Comparisons as a user asks for them: on the command line and over the API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.main import main
from gapscope_backend.cli.targets import parse_span, parse_target
from tests.backend.batches import BatchMaker
from tests.backend.running import Backend
from tests.backend.test_hosts import START, get, store
from tests.contrast.recordings import DEMO, case_folder


def _compare(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["compare", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.cases
def test_the_table_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("image-service-pil", "image-service-cuda-graph")
    code, out, _ = _compare(capsys, *(str(case_folder(name)) for name in names))
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("From image-service-pil to image-service-cuda-graph: cpu_preprocess (waits for CPU work")
    head = next(line for line in lines if line.split() == [*names])
    ends = [head.index(name) + len(name) for name in names]
    for start in ("verdict", "  graphics active", "  SMs active", "  power a GPU", "  ImageFile.load"):
        row = next(line for line in lines if line.startswith(start))
        assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for end in ends), row


def test_spans_of_one_recording(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _compare(capsys, f"{DEMO}@+22s..+38s", f"{DEMO}@+40s..", "--json")
    found = json.loads(out)
    assert code == 0
    assert [side["label"] for side in found["sides"]] == [f"{DEMO.name}@+22s..+38s", f"{DEMO.name}@+40s.."]
    assert found["sides"][0]["end_ns"] - found["sides"][0]["start_ns"] == 16 * 10**9
    assert found["better"][0] == "cpu_preprocess"
    assert found["next_limit"] == "no_tensor_cores"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([str(DEMO)], "give 2 to 8"),
        ([str(DEMO)] * 9, "give 2 to 8"),
        ([str(DEMO), "node-1"], "node-1 is no folder; compare recordings with recordings"),
        ([str(DEMO), f"{DEMO}@soon..later"], "soon is not a time"),
        ([str(DEMO), "/no/such/folder"], "is no folder"),
        (["node-1@+5s..+9s", "node-2"], "counts from a recording's start"),
    ],
)
def test_wrong_use_is_explained(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    code, _, err = _compare(capsys, *words)
    assert code == 2
    assert told in err


def test_targets(tmp_path: Path) -> None:
    odd = tmp_path / "before@1..2"
    odd.mkdir()
    assert parse_target(str(odd)).folder == odd
    part = parse_target(f"{odd}@+1s..+2.5s")
    assert (part.folder, part.label) == (odd, "before@1..2@+1s..+2.5s")
    host = parse_target("node-1@2026-01-31T12:00:00Z..")
    assert (host.folder, host.name) == (None, "node-1")
    assert host.times() == ("2026-01-31T12:00:00.000000Z", "now")
    assert parse_target("user@node-1").name == "user@node-1"
    with pytest.raises(UsageError, match=r"write FROM\.\.TO"):
        parse_span("+5s")


async def test_the_api_compares_spans_of_hosts(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    start, middle, end = (START // 10**6 + seconds * 1000 for seconds in (0, 5, 10))
    found = await get(backend, f"/compare?a=node-1@{start}..{middle}&b=node-1@{middle}..{end}")
    assert [side["host"] for side in found["sides"]] == ["node-1", "node-1"]
    assert found["sides"][0]["label"] == f"node-1@{start}..{middle}"
    active = next(row for row in found["metrics"] if row["name"] == "gpu_graphics_active_ratio")
    assert active["values"][0] > active["values"][1]


@pytest.mark.parametrize(
    ("query", "status", "where"),
    [
        ("a=node-1@now-1m..now", 400, "b"),
        ("a=node-1@now-1m..now&b=node-1", 400, "b"),
        ("a=node-1@now-1m..now&b=node-1@x..now", 400, "b"),
        ("a=node-1@now-1m..now&b=nobody@now-1m..now", 404, "host"),
        ("a=node-1@now-2h..now&b=node-1@now-1m..now", 422, "from"),
    ],
)
async def test_the_api_refuses(backend: Backend, maker: BatchMaker, query: str, status: int, where: str) -> None:
    await store(backend, maker)
    problem = await get(backend, f"/compare?{query}", status=status)
    assert problem["where"] == where
