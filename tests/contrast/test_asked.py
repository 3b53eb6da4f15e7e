"""What differs, as a user asks for it: on the command line and over the API."""

from __future__ import annotations

import json

import pytest

from gapscope_backend.cli.main import main
from tests.backend.batches import BatchMaker
from tests.backend.running import Backend
from tests.backend.test_hosts import SPAN, START, get, store
from tests.contrast.recordings import DEMO, case_folder


def _explain(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["explain", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.cases
def test_text_has_counts_on_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _explain(capsys, str(case_folder("checkpoints")), "--what-differs")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("GPU 0: in its gaps save")
    (row,) = (line for line in lines if line.startswith("* save"))
    assert "95.7 %" in row
    assert row.endswith("168/176, 3/255")


def test_json_and_a_span_of_the_bundled_recording(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _explain(capsys, str(DEMO), "--what-differs", "--json", "--span", "+20s..+39s", "--gpu", "0")
    (found,) = json.loads(out)
    assert (code, found["split"], found["index"]) == (0, "spans", 0)
    assert found["functions"][0]["in_gaps"] > found["functions"][0]["in_rest"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--what-differs", "--gpu", "7"], "there is no GPU 7 here; there is: 0"),
        (["--what-differs", "--span", "+5s"], "write FROM..TO"),
        (["--what-differs", "--span", "+5s..+999s"], "must lie inside"),
        (["--gpu", "0"], "go with --what-differs"),
    ],
)
def test_wrong_use_is_explained(capsys: pytest.CaptureFixture[str], words: list[str], told: str) -> None:
    code, _, err = _explain(capsys, str(DEMO), *words)
    assert code == 2
    assert told in err


async def test_the_api_sets_gaps_against_the_rest(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    (found,) = await get(backend, f"/hosts/node-1/contrast?{SPAN}")
    assert (found["index"], found["split"], found["has_contrast"]) == (0, "idle_share", True)
    shares = {d["name"]: d["in_gaps"] - d["in_rest"] for d in found["functions"]}
    assert shares["wait"] > 0 > shares["decode"]
    first = START // 1_000_000
    (found,) = await get(backend, f"/hosts/node-1/contrast?{SPAN}&gpu=0&span={first}..{first + 5000}")
    shares = {d["name"]: d["in_gaps"] for d in found["functions"]}
    assert found["split"] == "spans"
    assert shares["decode"] == 1.0


@pytest.mark.parametrize(
    ("query", "status", "where"),
    [("gpu=3", 404, "gpu"), ("gpu=x", 400, "gpu"), ("span=now", 400, "span"), ("span=now..now-1m", 400, "span")],
)
async def test_the_api_refuses(backend: Backend, maker: BatchMaker, query: str, status: int, where: str) -> None:
    await store(backend, maker)
    problem = await get(backend, f"/hosts/node-1/contrast?{SPAN}&{query}", status=status)
    assert problem["where"] == where
