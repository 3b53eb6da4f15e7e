"""Holds the running product against timed truths on a machine with an NVIDIA GPU, and prints the figures as JSON.

``python tests/gpu/contract.py --scratch DIR`` (as root): starts ``gapscope server``, and ``gapscope agent`` as the
user ``nobody``; runs the loads of truths.py; asks the API what the product saw; compares. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parent
PORT = 8797
HOST = "gpu-host"
GAPSCOPE = (sys.executable, "-m", "gapscope_backend.cli.main")


def start(words: list[str], log: Path, user: int | None = None) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen([*GAPSCOPE, *words], stdout=out, stderr=out, user=user, group=user)


def token(data: Path, kind: str) -> str:
    words = [*GAPSCOPE, "token", "create", "--data", str(data), "--kind", kind]
    words += ["--host", HOST] if kind == "ingest" else []
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def ask(secret: str, path: str, **query: Any) -> Any:
    url = f"http://127.0.0.1:{PORT}/api/v1/{path}?{urllib.parse.urlencode(query, doseq=True)}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def series(secret: str, metric: str, start_ns: float, end_ns: float, entity: str = "gpu:*") -> dict[str, Any]:
    query = {"from": start_ns / 1e6, "to": end_ns / 1e6, "buckets": 5000, "entity": entity, "metric": metric}
    found = ask(secret, f"hosts/{HOST}/series", **query)
    return dict(found["series"][0]) if found["series"] else {"mean": [], "time_ms": []}


def values(answer: dict[str, Any]) -> list[float]:
    return [value for value in answer["mean"] if value is not None]


def load(name: str, seconds: float) -> dict[str, Any]:
    words = [sys.executable, str(HERE / "truths.py"), name, "--seconds", str(seconds)]
    return dict(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))


def judge_duty(secret: str, truth: dict[str, Any]) -> dict[str, Any]:
    seen = values(series(secret, "gpu_graphics_active_ratio", truth["start_ns"], truth["end_ns"]))
    mean = statistics.fmean(seen)
    points = 100 * (mean - truth["busy_ratio"])
    return {"truth_pct": 100 * truth["busy_ratio"], "seen_pct": 100 * mean, "difference_points": points, "n": len(seen)}


def judge_copy(secret: str, truth: dict[str, Any], metric: str) -> dict[str, Any]:
    inner = (truth["start_ns"] + 1e9, truth["end_ns"] - 1e9)
    seen = values(series(secret, metric, *inner))
    mean = statistics.fmean(seen)
    return {
        "truth_gib_s": truth["bytes_per_second"] / 2**30,
        "truth_by_events_gib_s": truth["bytes_per_event_second"] / 2**30,
        "seen_gib_s": mean / 2**30,
        "off_pct": 100 * (mean / truth["bytes_per_second"] - 1),
    }


def judge_steady(secret: str, truth: dict[str, Any]) -> dict[str, Any]:
    inner = (truth["start_ns"] + 1e9, truth["end_ns"] - 5e8)
    answer = series(secret, "gpu_graphics_active_ratio", *inner)
    steps = [b - a for a, b in zip(answer["time_ms"], answer["time_ms"][1:], strict=False)]
    return {
        "samples": len(answer["mean"]),
        "asked": round((inner[1] - inner[0]) / 1e8),
        "null": answer["mean"].count(None),
        "below_half": sum(value < 0.5 for value in values(answer)),
        "minimum": min(values(answer)),
        "step_ms": {"median": statistics.median(steps), "longest": max(steps), "shortest": min(steps)},
    }


class Cost:
    """CPU and memory of one process and its threads, read from outside."""

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)
        self.begin()

    def begin(self) -> None:
        self.at, self.cpu, self.peak = time.monotonic(), sum(self.process.cpu_times()[:2]), 0

    def end(self) -> dict[str, float]:
        seconds = time.monotonic() - self.at
        cpu = sum(self.process.cpu_times()[:2]) - self.cpu
        memory = self.process.memory_info().rss / 1e6
        return {"seconds": seconds, "pct_of_a_core": 100 * cpu / seconds, "resident_mb": memory}


def halves(numbers: list[float]) -> dict[str, Any]:
    middle = len(numbers) // 2
    if middle == 0:
        return {"n": len(numbers), "values": numbers}
    return {
        "n": len(numbers),
        "first_half_ms": 1e3 * statistics.median(numbers[:middle]),
        "second_half_ms": 1e3 * statistics.median(numbers[middle:]),
        "spread_ms": 1e3 * (max(numbers) - min(numbers)),
    }


def prepare(scratch: Path) -> tuple[str, Path]:
    data = scratch / "data"
    secret = token(data, "read")
    agent_token = scratch / "agent.token"
    agent_token.write_text(token(data, "ingest"))
    for path in (scratch, agent_token):
        os.chown(path, 65534, 65534)
    return secret, agent_token


def run(scratch: Path, steady_seconds: float) -> dict[str, Any]:
    server = start(["server", "--data", str(scratch / "data"), "--port", str(PORT)], scratch / "server.log")
    time.sleep(5)
    secret, agent_token = prepare(scratch)
    url = f"http://127.0.0.1:{PORT}"
    words = ["agent", "--server", url, "--token-file", str(agent_token), "--host", HOST]
    agent = start(words, scratch / "agent.log", user=65534)
    try:
        time.sleep(8)
        cost = Cost(agent.pid)
        truths = {"duty": load("duty", 60)}
        costs = {"duty": cost.end()}
        truths["rx"], truths["tx"] = load("copy-to-device", 12), load("copy-to-host", 12)
        cost.begin()
        truths["steady"] = load("steady", steady_seconds)
        costs["steady"] = cost.end()
        time.sleep(8)
        whole = (truths["duty"]["start_ns"], time.time_ns())
        return {
            "agent_uid": psutil.Process(agent.pid).uids().real,
            "duty": judge_duty(secret, truths["duty"]),
            "pcie_rx": judge_copy(secret, truths["rx"], "pcie_rx_bytes_per_second"),
            "pcie_tx": judge_copy(secret, truths["tx"], "pcie_tx_bytes_per_second"),
            "steady": judge_steady(secret, truths["steady"]),
            "lag": halves(values(series(secret, "gpu_counter_lag_seconds", *whole))),
            "agent_cost": costs,
            "agent_says": values(series(secret, "agent_cpu_cores", *whole, entity="host"))[-3:],
            "processes": [
                (p["command"][:60], p["owner_of"]) for p in ask(secret, f"hosts/{HOST}")["processes"] if p["owner_of"]
            ],
            "verdict_duty": ask(
                secret,
                f"hosts/{HOST}/diagnosis",
                **{"from": truths["duty"]["start_ns"] / 1e6, "to": truths["duty"]["end_ns"] / 1e6},
            )["sentence"],
        }
    finally:
        for process in (agent, server):
            process.terminate()
            process.wait(15)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, required=True, help="folder that is emptied first")
    parser.add_argument("--steady-seconds", type=float, default=300.0)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    print(json.dumps(run(arguments.scratch, arguments.steady_seconds), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
