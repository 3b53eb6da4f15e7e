"""The same samples in VictoriaMetrics and Prometheus, written by their import interfaces; bytes on disk at rest.

Their programs come from the system (Debian: ``prometheus``, ``victoria-metrics``); what is absent is left out.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gapscope_backend.store.latest import decimals_of

VICTORIA, PROMTOOL = "victoria-metrics", "promtool"
WAIT_SECONDS = 60.0
LINES_AT_ONCE = 2000
Sizes = tuple[int, int]
"""Bytes of the values, and of what finds them."""


@dataclass(frozen=True)
class Columns:
    """A series without gaps: ``times`` int64[n] ns, ``values`` float64[n]."""

    host: str
    entity: str
    metric: str
    times: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]

    @property
    def rounded(self) -> list[float]:
        """The values with no more digits than the catalogue keeps."""
        found: list[float] = np.round(self.values, decimals_of(self.metric)).tolist()
        return found


def measure(series: Sequence[Columns], samples: int) -> dict[str, Any]:
    """Bytes a sample of those that are installed."""
    told: dict[str, Any] = {}
    kinds: tuple[tuple[str, str, str, Callable[[Sequence[Columns], Path], Sizes]], ...] = (
        ("victoriametrics", VICTORIA, VICTORIA, _victoria),
        ("prometheus", PROMTOOL, "prometheus", _prometheus),
    )
    for name, program, package, fill in kinds:
        if shutil.which(program) is None:
            told[name] = {"absent": f"{program} is not installed"}
            continue
        with tempfile.TemporaryDirectory(prefix="gapscope-bench-") as folder:
            values, index = fill(series, Path(folder))
        told[name] = {
            "bytes": values + index,
            "bytes_per_sample": round((values + index) / samples, 3),
            "values_per_sample": round(values / samples, 3),
            "version": _version(package),
        }
    return told


def _victoria(series: Sequence[Columns], folder: Path) -> Sizes:
    with _running(folder) as address:
        for at in range(0, len(series), LINES_AT_ONCE):
            _post(f"{address}/api/v1/import", "\n".join(map(_line, series[at : at + LINES_AT_ONCE])).encode())
        for path in ("flush", "merge"):
            _post(f"{address}/internal/force_{path}", None)
            time.sleep(2)
    return _bytes(folder / "data" / "data"), _bytes(folder / "data" / "indexdb")


def _line(one: Columns) -> str:
    metric = {"__name__": one.metric, "host": one.host, "entity": one.entity}
    return json.dumps({"metric": metric, "values": one.rounded, "timestamps": (one.times // 1_000_000).tolist()})


@contextmanager
def _running(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    words = [f"-storageDataPath={folder / 'data'}", "-retentionPeriod=100y", f"-httpListenAddr={where}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([VICTORIA, *words], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + WAIT_SECONDS
        while not _answers(f"http://{where}/health"):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield f"http://{where}"
    finally:
        process.terminate()
        process.wait(60)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def _post(url: str, body: bytes | None) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, data=body), timeout=120) as answer:
        assert answer.status in {200, 204}


def _prometheus(series: Sequence[Columns], folder: Path) -> Sizes:
    told, out = folder / "samples.txt", folder / "data"
    by_metric: dict[str, list[Columns]] = defaultdict(list)
    for one in series:
        by_metric[one.metric].append(one)
    with told.open("w") as file:
        for metric, alike in by_metric.items():
            file.write(f"# TYPE {metric} gauge\n")
            for one in alike:
                labels = f'{metric}{{host="{one.host}",entity="{one.entity}"}}'
                for t, value in zip((one.times // 1_000_000).tolist(), one.rounded, strict=True):
                    file.write(f"{labels} {value} {t / 1000:.3f}\n")
        file.write("# EOF\n")
    words = ["tsdb", "create-blocks-from", "openmetrics", "--quiet", "--max-block-duration=24h", str(told), str(out)]
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    values = sum(_bytes(path) for path in out.glob("*/chunks"))
    return values, _bytes(out) - values


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _version(package: str) -> str:
    """Version of a Debian package, empty where there is none of that name."""
    words = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout if shutil.which(words[0]) else ""
