"""Names and bounds of a recording's files.

A recording is a folder: ``recording.json`` (an :class:`~gapscope_agent.reading.Origin`), ``readings.jsonl.gz`` (one
reading a line) and, where stacks were taken, ``stacks.jsonl.gz`` (one snapshot a line). While a recording is being
written its ``recording.json`` has no ``end_ns``; such a folder may end in the middle of a line.
"""

from __future__ import annotations

ORIGIN_FILE = "recording.json"
READINGS_FILE = "readings.jsonl.gz"
STACKS_FILE = "stacks.jsonl.gz"

FORMATS = (1, 2)
CURRENT_FORMAT = 2

MAX_ORIGIN_BYTES = 1024 * 1024
MAX_LINE_BYTES = 8 * 1024 * 1024
"""The longest line seen is 16 kB; a process tree of thousands of threads stays below 1 MB."""
MAX_LINES = 20_000_000
"""About a week of one busy host with two GPUs."""
