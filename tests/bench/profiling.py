"""Where the time of running processes goes: py-spy's samples of them, put under a few headings."""

from __future__ import annotations

import linecache
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import psutil

HEADINGS = (
    ("the check of a batch", ("check (/", "decode_batch (", "collect_latest (")),
    ("finding the token", ("verify_token", "token_of_hash")),
    ("entities of hosts", ("_store_facts",)),
    ("newest values", ("_store_latest",)),
    ("hot rows", ("_add_hot",)),
    ("rows of hosts", ("_host_rows",)),
    ("compaction: reading and joining", ("_gather (", "load_chunks", "_read_hot")),
    ("compaction: encoding", ("_renew (",)),
    ("compaction: writing", ("write_chunks", "_take_out", "store_minutes", "add_to_runs")),
    ("merging", ("merge_tiers", "_merged")),
    ("due slots", ("due_slots",)),
    ("the watch: rolling verdicts", ("_judge_due", "diagnose (", "_judge (", "load_window")),
    ("the watch: detectors", ("advance_watch", "_follow")),
    ("the watch: what came in", ("_arrivals",)),
    ("claiming and renewing work", ("claim_work", "finish_work", "renew_leases", "add_work")),
    ("SQLite: statements and commits", ("_connection_worker_thread",)),
    ("SQLAlchemy", ("sqlalchemy/",)),
    ("HTTP", ("aiohttp/",)),
)
"""First match from the top; what matches none is ``event loop and other``."""


WAITS = (".get(", ".select(", ".poll(", ".wait(", ".acquire(")
"""What stands in a line of Python in which a thread sleeps; py-spy takes some of that for work."""
_PLACE = re.compile(r"(?:^|;)(?P<name>[^;]*) \((?P<file>[^;()]*):(?P<line>\d+)\)$")


def record(processes: Mapping[str, psutil.Process], seconds: int, folder: Path) -> dict[str, dict[str, float]]:
    """Percent of the time on the CPU by process and heading."""
    running = {}
    for role, process in processes.items():
        out = folder / f"{role}.folded"
        words = [
            str(Path(sys.executable).with_name("py-spy")),
            "record",
            "--format",
            "raw",
            "--full-filenames",
            "--rate",
            "100",
            "--duration",
            str(seconds),
        ]
        running[role] = (out, subprocess.Popen([*words, "--output", str(out), "--pid", str(process.pid)]))
    told = {}
    for role, (out, recorder) in running.items():
        if recorder.wait(seconds + 60) == 0 and out.exists():
            told[role] = headed(out.read_text())
    return told


def headed(folded: str) -> dict[str, float]:
    """Percent of samples under each heading."""
    counts: Counter[str] = Counter()
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        if not _waits(stack):
            counts[_heading(stack)] += int(count)
    whole = sum(counts.values()) or 1
    return {name: round(100 * count / whole, 1) for name, count in counts.most_common()}


def _waits(stack: str) -> bool:
    """Whether the thread waits for work or for the loop's next event, by the text of its innermost line."""
    innermost = _PLACE.search(stack)
    if innermost is None:
        return True
    text = linecache.getline(innermost["file"], int(innermost["line"]))
    return any(mark in text for mark in WAITS) or innermost["name"] == "Runner.run"


def _heading(stack: str) -> str:
    return next((name for name, marks in HEADINGS if any(mark in stack for mark in marks)), "event loop and other")
