"""The documentation has a row for every check, in their order."""

from __future__ import annotations

import re

from gapscope_backend.analysis.checklist import CHECKS
from tests.contrast.recordings import ROOT


def test_every_check_stands_in_the_docs() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "checklist.md").read_text(), re.MULTILINE)
    assert rows == [check.id for check in CHECKS]
    assert len(set(rows)) == len(rows)
