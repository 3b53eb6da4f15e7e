"""The commands that look at a host, against a running server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gapscope_backend.cli.main import main
from gapscope_backend.cli.moments import iso
from tests.backend.batches import BatchMaker
from tests.backend.running import Backend
from tests.backend.test_hosts import START, store

SECOND = 10**9
BEGIN, MIDDLE, END = (iso(START + seconds * SECOND) for seconds in (0, 5, 10))


async def _run(backend: Backend, folder: Path, *words: str) -> int:
    token = folder / "token"
    token.write_text(backend.read_token)
    address = str(backend.client.make_url("/"))
    return await asyncio.to_thread(main, [*words, "--json", "--server", address, "--token-file", str(token)])


async def test_what_differs_on_a_host(
    backend: Backend, maker: BatchMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await store(backend, maker)
    words = ("explain", "node-1", "--what-differs", "--from", BEGIN, "--to", END, "--span", f"{BEGIN}..{MIDDLE}")
    assert await _run(backend, tmp_path, *words) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["host"], found["split"]) == ("node-1", "spans")
    assert {d["name"]: d["in_gaps"] for d in found["functions"]}["decode"] == 1.0


async def test_spans_of_a_host_compared(
    backend: Backend, maker: BatchMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await store(backend, maker)
    spans = (f"node-1@{BEGIN}..{MIDDLE}", f"node-1@{MIDDLE}..{END}")
    assert await _run(backend, tmp_path, "compare", *spans) == 0
    found = json.loads(capsys.readouterr().out)
    assert [side["label"] for side in found["sides"]] == list(spans)
    assert [side["end_ns"] - side["start_ns"] for side in found["sides"]] == [5 * SECOND, 5 * SECOND]


async def test_a_host_checked(
    backend: Backend, maker: BatchMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await store(backend, maker)
    code = await _run(backend, tmp_path, "check", f"node-1@{BEGIN}..{END}")
    found = json.loads(capsys.readouterr().out)
    assert code == (found["status"] == "fail")
    assert found["beyond"][0]["command"].endswith("python serve.py")


async def test_an_unknown_host_is_told(backend: Backend, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert await _run(backend, tmp_path, "check", "nobody") == 2
    assert "refused (404)" in capsys.readouterr().err
