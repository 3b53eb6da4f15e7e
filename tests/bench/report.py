"""``python -m tests.bench.report``: writes docs/benchmarks.md from the figures that the benchmarks have kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.bench.machine import RESULTS, load_figures
from tests.bench.recorded import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
NAMES = {
    "sqlite": "Gapscope on SQLite",
    "postgresql": "Gapscope on PostgreSQL",
    "victoriametrics": "VictoriaMetrics",
    "prometheus": "Prometheus",
}
HEAD = """# Benchmarks

Written by `python -m tests.bench.report` from the figures that the programs under `tests/bench` have kept with
`--save`; `make bench` runs a short form of each and keeps nothing. Each section names its machine. The load average is
that of the minute before the figures were kept: where it is far above what the benchmark itself needs, others used the
same cores, and times are longer than on a machine of one's own.
"""
SIZE = """## Size

`python -m tests.bench.size --save size`: {cases} recorded cases, each once, the whole catalogue; Gapscope's
figures hold all tiers, those of the others the samples alone. A sample is a value that is there. For Gapscope
the bytes are those of the tables `chunk`, `metric_set` and `device_minute` with their indexes and half-filled
pages. Aim: at most 0.70 in SQLite and 1.0 in PostgreSQL.
"""
PARTS = """Where the bytes go, a sample. Heads are the compressed lists of series and of what is missing, in front of
the values. A tier's chunks are merged as they are once the day is over.
"""
INGEST = """## Ingest

`python -m tests.bench.ingest --save NAME`: a process of its own posts made-up hosts' batches of 25,325 values over
HTTP at fixed moments (open loop), each host every 5 s, values out of recordings; a real `gapscope server --role all`
stores, compacts and watches. Unless hot rows begin at or near 0, a slot of 5 min of as many hosts as come due in the
time of the run waits from the begin, and its compaction is spread over the run. Latency counts from the moment at
which a batch should have been sent, without the first 10 s. At the end each batch and each value is counted in the
database. CPU is that of the whole run divided by the batches, in ms. Aim: 200 a second with p99 under 500 ms.
"""
LOCKS = """## Write locks

`python -m tests.bench.locks --save locks`, SQLite: how long one transaction of a kind holds the lock for
writing, commit and checkpoint included, ms. Aim: under 250.
"""
GROWTH = """## Growth

`python -m tests.bench.growth --save growth`: p95 in ms over HTTP, one at a time, no other load of the benchmark's
own; in brackets the mean CPU time of the server, which tells what it would be on free cores. The host that is asked
holds 24 h in full, all others and the days before hold keys with next to nothing behind them.
"""
PAGE_HEAD = """## Page

`python -m tests.bench.page --save page`: headless Chromium {chromium}, 1440 x 900; the bundled recording (one GPU)
plays in real time and is watched live for {minutes:g} min. Times are of frames: all animation callbacks of one
together, without the browser's own layout and painting. First lanes count from the moment at which the first series
was read, a sample from when it was taken. Server and browser share the cores.
"""


def page(folder: Path = RESULTS) -> str:
    """The whole page."""
    sections: Sequence[Callable[[Path], Iterable[str]]] = (_size, _ingest, _locks, _growth, _page)
    parts = [HEAD, *("\n".join(section(folder)) for section in sections)]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _size(folder: Path) -> Iterable[str]:
    told = load_figures("size", folder)
    if told is None:
        return
    yield SIZE.format(cases=told["cases"])
    yield _machine(told)
    rows = []
    for layout, found in told["layouts"].items():
        own = found["sqlite"]["bytes_per_sample"] if "sqlite" in found else None
        for key, name in NAMES.items():
            one = found.get(key)
            if one is None:
                continue
            if "absent" in one:
                rows.append([layout, name, one["absent"], "", "", ""])
                continue
            ratio = f"{one['bytes_per_sample'] / own:.2f}" if own else ""
            whole = one.get("everything_per_sample", "")
            values = one.get("values_per_sample", one.get("payload_per_sample"))
            rows.append(
                [layout, f"{name} {one.get('version', '')}".strip(), one["bytes_per_sample"], values, whole, ratio]
            )
    yield _table(
        ["layout", "database", "B/sample", "without index and pages", "with stacks, entities, events", "to SQLite"],
        rows,
    )
    yield PARTS
    rows = [
        [layout, tier, part["bytes"], part["heads"]]
        for layout, found in told["layouts"].items()
        for tier, part in found.get("sqlite", {}).get("tiers", {}).items()
    ]
    yield _table(["layout", "tier", "B/sample", "of it heads"], rows)
    counts = ", ".join(f"{layout}: {found['samples']:,}" for layout, found in told["layouts"].items())
    yield f"Samples ({counts}) are few, so that fixed costs weigh more than in a database of some days.\n"


def _ingest(folder: Path) -> Iterable[str]:
    kept = [(path.stem, load_figures(path.stem, folder)) for path in sorted(folder.glob("ingest*.json"))]
    runs = [(run, told) for _, told in kept if told for run in told["runs"]]
    if not runs:
        return
    yield INGEST
    yield from dict.fromkeys(_machine(told) for _, told in runs)
    head = ["engine", "asked a second", "minutes", "acknowledged a second", "p50", "p99", "max", "lost", "doubled"]
    yield _table([*head, "load"], [_ingest_row(run) for run, _ in runs])
    head = ["engine", "asked", "API MiB quarter / end", "worker MiB quarter / end", "hot rows begin / most / end"]
    yield _table(
        [*head, "CPU API / worker / database", "threads without a core API / worker"],
        [_cost_row(run) for run, _ in runs],
    )
    asked = [run for run, _ in runs if "queries_ms" in run]
    if asked:
        yield "Queries during that load, p95 in ms (aims: 50, 100, 200):\n"
        names = list(asked[0]["queries_ms"])
        rows = [[run["engine"], f"{run['rate']:g}", *(_p95(run, name) for name in names)] for run in asked]
        yield _table(["engine", "batches a second", *names], rows)
    for run in (run for run, _ in runs if "profile_percent" in run):
        yield f"Where the time on the CPU goes at {run['rate']:g} a second on {run['engine']} (py-spy, percent):\n"
        rows = [[role, name, share] for role, parts in run["profile_percent"].items() for name, share in parts.items()]
        yield _table(["process", "what", "percent"], [row for row in rows if row[2] >= 1])


def _ingest_row(run: dict[str, Any]) -> list[Any]:
    latency, back, load = run["latency_ms"], run["readback"], run["watched"]["load_1min"]
    times = [latency.get(name, "") for name in ("p50", "p99", "max")]
    lost = f"{back['lost_batches']} batches, {back['lost_values']} values"
    doubled = f"{back['batches_in_two_places']} batches, {back['doubled_values']} values"
    rate = [run["engine"], f"{run['rate']:g}", f"{run['seconds'] / 60:g}", run["acknowledged_per_second"]]
    return [*rate, *times, lost, doubled, f"{load['begin']}-{load['end']}"]


def _cost_row(run: dict[str, Any]) -> list[Any]:
    watched, hot = run["watched"], run["watched"]["hot_batches"]
    memory = [
        f"{watched[role]['mib_at_quarter']:.0f} / {watched[role]['mib_end']:.0f}" if role in watched else ""
        for role in ("api", "worker")
    ]
    cpu = " / ".join(f"{run['cpu_ms_per_batch'].get(role, 0):.1f}" for role in ("api", "worker", "database"))
    waits = [watched.get(role, {}).get("waited_cores") for role in ("api", "worker")]
    waited = " / ".join("" if one is None else f"{one:.2f}" for one in waits)
    rows = f"{hot['begin']:g} / {hot['most']:g} / {hot['end']:g}"
    return [run["engine"], f"{run['rate']:g}", *memory, rows, cpu, waited]


def _p95(run: dict[str, Any], name: str) -> str:
    told = run["queries_ms"].get(name)
    return f"{told['p95']:g} ({told['count']} times)" if told else ""


def _locks(folder: Path) -> Iterable[str]:
    told = load_figures("locks", folder)
    if told is None:
        return
    yield LOCKS
    yield _machine(told)
    rows = [[kind, held["count"], held["p50"], held["p99"], held["max"]] for kind, held in told["held_ms"].items()]
    yield _table(["work", "transactions", "p50", "p99", "max"], rows)


def _growth(folder: Path) -> Iterable[str]:
    told = load_figures("growth", folder)
    if told is None:
        return
    yield GROWTH
    yield _machine(told)
    names = list(told["runs"][0]["queries_ms"])
    rows = [
        [
            run["engine"],
            run["hosts"],
            run["days"],
            f"{run['chunks']:,}",
            *(f"{run['queries_ms'][n]['p95']:g} ({run['queries_ms'][n]['cpu']:g})" for n in names),
        ]
        for run in told["runs"]
    ]
    yield _table(["engine", "hosts", "days", "chunks", *names], rows)


def _page(folder: Path) -> Iterable[str]:
    told = load_figures("page", folder)
    if told is None:
        return
    yield PAGE_HEAD.format(chromium=told["chromium"].partition(".")[0], minutes=told["live_seconds"] / 60)
    yield _machine(told)
    aims = {
        "first_lanes_ms": ("first lanes after data", "under 300"),
        "redraw_ms": ("redraw while panned and zoomed", "p95 under 16"),
        "live_draw_ms": ("live at 10 Hz, draw", "p95 under 16"),
        "sample_to_pixel_ms": ("live at 10 Hz, sample to pixel", "under 500"),
        "grid_ms": ("grid of 8,000 GPUs", "under 50"),
    }
    rows = [
        [name, told[key]["count"], *(told[key][one] for one in ("p50", "p95", "p99", "max")), aim]
        for key, (name, aim) in aims.items()
    ]
    yield _table(["ms", "count", "p50", "p95", "p99", "max", "aim"], rows)
    heap = told["heap_mb"]
    at = sorted({round(share * (len(heap) - 1)) for share in (0, 0.25, 0.5, 0.75, 1)})
    minute = told["live_seconds"] / 60 / len(heap)
    yield "Heap of the live view after a garbage collection; it is to stay flat once the rings are full:\n"
    yield _table([f"{(n + 1) * minute:.1f} min" for n in at], [[f"{heap[n]:g} MB" for n in at]])
    sizes = told["javascript"]
    yield (
        f"Scripts, kB with gzip: {', '.join(f'{name} {size:g}' for name, size in sizes.items())}; together "
        f"{sum(sizes.values()):.1f}, of which a reader fetches one language. The timeline of a host loads "
        f"{told['loaded_kb']:g}. Aim: 180.\n"
    )


def _machine(told: dict[str, Any]) -> str:
    one = told["machine"]
    return (
        f"{told['made']}: {one['cores']} cores of {one['processor']}, {one['memory_gib']:g} GiB, "
        f"Python {one['python']}, SQLite {one['sqlite']}; load average {one['load_1min']:g}.\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
