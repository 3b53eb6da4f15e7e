"""The programs of the benchmark do what they say: made-up batches, headings of a profile, the page of figures."""

from __future__ import annotations

import gzip
from pathlib import Path

from gapscope_agent.wire import decode_batch, decode_groups
from tests.bench import profiling, report
from tests.bench.fleet import FIRST_SEQUENCE, SPAN_NS, host_name, run_name, templates
from tests.bench.machine import load_figures, save

END_NS = 1_796_000_000_000_000_000


def test_a_made_up_batch_is_a_batch_of_its_host_and_time() -> None:
    for number, template in enumerate(templates(3)):
        made = number, run_name(number, 7), number, END_NS
        assert gzip.decompress(template.gzipped(*made)) == template.body(*made)
        batch = decode_batch(template.body(*made))
        assert (batch.host, batch.run_id) == (host_name(number), run_name(number, 7))
        assert (batch.sequence, batch.start_ns, batch.end_ns) == (FIRST_SEQUENCE + number, END_NS - SPAN_NS, END_NS)
        views = decode_groups(batch)
        assert sum(view.times.size * len(view.values) for view in views) == template.values > 25_000
        assert all(END_NS - SPAN_NS <= view.times[0] <= view.times[-1] < END_NS for view in views)


def test_time_is_put_under_headings_and_waiting_left_out(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text("work()\nqueue.get()\n")
    folded = f"verify_token (a.py:1);run ({code}:1) 3\nother ({code}:1) 1\nverify_token (a.py:1);rest ({code}:2) 5\n"
    assert profiling.headed(folded) == {"finding the token": 75.0, "event loop and other": 25.0}


def test_the_page_tells_what_was_kept_and_nothing_else(tmp_path: Path) -> None:
    assert "##" not in report.page(tmp_path)
    held = {"count": 3, "p50": 1.5, "p95": 2.0, "p99": 2.5, "max": 97.5}
    save("locks", {"held_ms": {"compaction": held}}, tmp_path)
    assert load_figures("locks", tmp_path) is not None
    assert "| compaction | 3 | 1.5 | 2.5 | 97.5 |" in report.page(tmp_path)


def test_the_docs_are_the_figures_that_were_kept() -> None:
    assert report.PAGE.read_text() == report.page()
