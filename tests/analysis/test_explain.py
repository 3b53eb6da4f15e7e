"""``gapscope explain`` as a user calls it."""

from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.main import main
from gapscope_backend.cli.moments import iso, parse_moment
from gapscope_backend.cli.report import render


def _explain(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["explain", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.cases
def test_json_follows_the_contract(cases_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _explain(capsys, str(cases_folder / "image-service-pil"), "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"]) == (0, "cpu_preprocess")
    assert sum(row["share"] for row in answer["ledger"]) == pytest.approx(1.0)


@pytest.mark.cases
def test_text_begins_with_a_sentence_and_names_the_function(
    cases_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _explain(capsys, str(cases_folder / "image-service-pil"))
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("The NVIDIA H200 waited 9")
    assert "PIL/ImageFile.py:412" in lines[0]
    assert any(line.startswith("  cpu_preprocess") and "█" in line for line in lines)
    assert "advice (P0)" in out
    assert "\x1b" not in out


@pytest.mark.cases
def test_a_part_is_cut_out(cases_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cases_folder / "bursts"
    start = json.loads((folder / "recording.json").read_text())["start_ns"]
    _, out, _ = _explain(capsys, str(folder), "--json", "--from", "+5s", "--to", iso(start + 9_000_000_000))
    answer = json.loads(out)
    assert answer["start_ns"] == start + 5_000_000_000
    assert answer["end_ns"] - answer["start_ns"] == pytest.approx(4e9, abs=1000)
    assert sum(row["gpu_seconds"] for row in answer["ledger"]) == pytest.approx(4.0, abs=1e-5)


@pytest.mark.cases
def test_an_empty_span_is_refused(cases_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = _explain(capsys, str(cases_folder / "bursts"), "--from", "+5s", "--to", "+5s")
    assert code == 2
    assert "--from before --to" in err


@pytest.mark.cases
def test_a_damaged_recording_names_file_and_line(
    cases_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "case"
    shutil.copytree(cases_folder / "no-traffic", copy)
    with gzip.open(copy / "readings.jsonl.gz", "wt") as file:
        file.write('{"kind": "cpu", "t": "soon"}\n')
    code, _, err = _explain(capsys, str(copy))
    assert code == 2
    assert "readings.jsonl.gz, line 1" in err


def test_a_folder_that_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = _explain(capsys, str(tmp_path))
    assert code == 2
    assert "recording.json" in err


def test_a_wrong_time_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        _explain(capsys, str(tmp_path), "--from", "yesterday")
    assert stopped.value.code == 2
    assert "yesterday is not a time" in capsys.readouterr().err


def test_a_host_needs_server_and_token(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("GAPSCOPE_SERVER", raising=False)
    monkeypatch.delenv("GAPSCOPE_TOKEN", raising=False)
    assert "GAPSCOPE_SERVER" in _explain(capsys, "gpu-7")[2]
    code, _, err = _explain(capsys, "gpu-7", "--server", "http://127.0.0.1:1")
    assert code == 2
    assert "GAPSCOPE_TOKEN" in err
    monkeypatch.setenv("GAPSCOPE_TOKEN", "t")
    assert "cannot be reached" in _explain(capsys, "gpu-7", "--server", "http://127.0.0.1:1")[2]
    assert "recording's start" in _explain(capsys, "gpu-7", "--from", "+5s", "--server", "http://127.0.0.1:1")[2]
    assert "is not a server's address" in _explain(capsys, "gpu-7", "--server", "file:///etc")[2]


class _Server(HTTPServer):
    answer: tuple[int, bytes] = (200, b"")
    asked: list[tuple[str, str]]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        status, body = self.server.answer
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as running:
        running.asked = []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_host_is_asked_of_its_server(
    server: _Server, builder: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = diagnose(builder.gpu(1.0, sm_active=0.9, sm_occupancy=0.3, dram_active=0.9).window())
    server.answer = (200, json.dumps(dataclasses.asdict(verdict)).encode())
    token = tmp_path / "token"
    token.write_text("secret\n")
    address = f"http://127.0.0.1:{server.server_port}/"
    code, out, _ = _explain(capsys, "gpu 7", "--json", "--server", address, "--token-file", str(token))
    assert code == 0
    assert json.loads(out)["verdict"] == "memory_bound"
    assert server.asked == [("/api/v1/hosts/gpu%207/diagnosis?from=now-5m&to=now", "Bearer secret")]


@pytest.mark.parametrize(("gpu", "said"), [({}, "lag not estimated"), ({"lag_estimated": True}, "counters lag 0 ms")])
def test_a_lag_that_is_not_known_is_not_zero(builder: Any, gpu: dict[str, bool], said: str) -> None:
    window = builder.gpu(1.0, sm_active=0.9).window()
    window = dataclasses.replace(window, gpus=(dataclasses.replace(window.gpus[0], **gpu),))
    assert said in render(diagnose(window))


def test_a_host_takes_times_before_now_and_a_recording_does_not(
    server: _Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GAPSCOPE_TOKEN", "t")
    monkeypatch.setenv("GAPSCOPE_SERVER", f"http://127.0.0.1:{server.server_port}")
    _explain(capsys, "gpu-7", "--from", "now-10s", "--to", "now-2s")
    _explain(capsys, "gpu-7", "--what-differs", "--from", "now-1.5h")
    assert [path.partition("?")[2] for path, _ in server.asked] == ["from=now-10s&to=now-2s", "from=now-1.5h&to=now"]
    with pytest.raises(UsageError, match="now-10s is a time for hosts"):
        parse_moment("now-10s").after(0)
    with pytest.raises(ValueError, match="now-10 is not a time"):
        parse_moment("now-10")


def test_refusals_and_strange_answers_are_explained(
    server: _Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GAPSCOPE_TOKEN", "t")
    monkeypatch.setenv("GAPSCOPE_SERVER", f"http://127.0.0.1:{server.server_port}")
    server.answer = (404, b'{"error": "not_found", "detail": "no host gpu-7"}')
    assert "(404): no host gpu-7" in _explain(capsys, "gpu-7")[2]
    server.answer = (200, b"<html>")
    assert "did not answer with a verdict" in _explain(capsys, "gpu-7")[2]


@pytest.mark.parametrize(
    ("text", "ns", "relative"),
    [
        ("+5s", 5_000_000_000, True),
        ("+0.25", 250_000_000, True),
        ("1970-01-01T00:00:01Z", 1_000_000_000, False),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000, False),
        ("1970-01-02", 86_400_000_000_000, False),
    ],
)
def test_moments(text: str, ns: int, relative: bool) -> None:
    moment = parse_moment(text)
    assert (moment.ns, moment.relative) == (ns, relative)
    assert parse_moment(iso(ns)).ns == ns


def test_moments_refuse_the_rest() -> None:
    with pytest.raises(ValueError, match="5 is not a time"):
        parse_moment("5")
