"""Files of rules: what is wrong, where, and what to do; what the default set says; durations, hours, patterns."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from gapscope_backend.alerts.durations import read_duration, write_duration
from gapscope_backend.alerts.files import default_specs, read_file, read_text
from gapscope_backend.alerts.look import GpuFacts, HostFacts
from gapscope_backend.alerts.matching import Scope, matches, read_matcher
from gapscope_backend.alerts.quiet import is_quiet, read_quiet, read_zone
from gapscope_backend.alerts.rules import KINDS
from gapscope_backend.cli.main import main
from gapscope_backend.errors import ConfigurationError

DOCS = Path(__file__).parents[2] / "docs" / "alerts.md"


def test_every_default_rule_is_one() -> None:
    rules = [spec.rule for spec in default_specs().values()]
    assert {rule.kind.name for rule in rules} == {kind.name for kind in KINDS}
    on = [rule for rule in rules if rule.enabled]
    assert {"gpu-drop", "gpu-lost", "agent-silent"} <= {rule.id for rule in on}
    assert all("no_work" not in getattr(rule.settings, "causes", ()) for rule in on)


def test_the_docs_name_every_kind_and_setting() -> None:
    text = DOCS.read_text()
    for kind in KINDS:
        assert f"| `{kind.name}` |" in text
        for setting in kind.settings.__struct_fields__:
            assert f"`{setting}`" in text, (kind.name, setting)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("bogus = 1", "1: bogus: there is no such setting"),
        (
            '\n[rules.gpu-drop]\nfor = "30 apples"',
            "3: rules.gpu-drop.for: '30 apples' is no length of time; write it as",
        ),
        (
            '[rules.x]\nkind = "cause_holdin"',
            "2: rules.x.kind: there is no kind 'cause_holdin'; did you mean cause_holding?",
        ),
        ('[rules.x]\nfor = "5m"', "1: rules.x: kind is missing; it is one of utilization_drop"),
        ('[rules.x]\nkind = "xid"\nshares = 1', "3: rules.x.shares: there is no setting 'shares'"),
        ('[rules.x]\nkind = "cause_holding"\nshare = 2', "3: rules.x.share: "),
        ('[rules.x]\nkind = "cause_holding"\nclear_share = 0.9', "3: rules.x.clear_share: 0.9 lies above share"),
        ('[rules.x]\nkind = "cause_holding"\ncauses = ["no_wrk"]', "3: rules.x.causes: there is no cause 'no_wrk'"),
        ('[rules.x]\nkind = "lost_rate"', "1: rules.x: give either gpu_seconds_per_hour or money_per_hour"),
        ('[rules.x]\nkind = "xid"\nunless = ["y"]', "3: rules.x.unless: there is no rule 'y'"),
        ('[rules.x]\nkind = "xid"\nquiet_hours = ["25:00-26:00"]', "3: rules.x.quiet_hours: '25:00-26:00' is no time"),
        ('[rules.x]\nkind = "xid"\ntimezone = "Mars"', "3: rules.x.timezone: 'Mars' is no time zone"),
        (
            '[rules.x]\nkind = "xid"\nseverity = "loud"',
            "3: rules.x.severity: 'loud': want one of info, warning, critical",
        ),
        ('[rules.X]\nkind = "xid"', "1: rules.X: a rule's name is of a-z"),
        ("[rules]\nx = 1", "2: rules.x: write the rule as a table [rules.x]"),
        ("[rules.x\n", "this is no TOML"),
    ],
)
def test_a_fault_says_what_where_and_what_to_do(text: str, fault: str) -> None:
    _, faults = read_text(text)
    assert len(faults) == 1
    assert fault in faults[0]


def test_all_faults_are_told_at_once() -> None:
    _, faults = read_text('[rules.a]\nkind = "no"\n[rules.b]\nkind = "xid"\nfor = "x"\n')
    assert [fault.split(":")[0] for fault in faults] == ["2", "5"]


def test_a_file_lies_over_the_defaults() -> None:
    specs, faults = read_text('[rules.gpu-drop]\nfor = "2m"\n[rules.mine]\nkind = "xid"\n')
    assert faults == []
    assert specs["gpu-drop"].rule.for_seconds == 120
    assert specs["gpu-drop"].rule.clear_for_seconds == default_specs()["gpu-drop"].rule.clear_for_seconds
    assert (specs["gpu-drop"].origin, specs["mine"].origin, specs["gpu-lost"].origin) == ("file", "file", "default")
    assert set(read_text("defaults = false\n")[0]) == set()


def test_the_command_checks_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text('[rules.x]\nkind = "xid"\nfor = "soon"\n')
    assert main(["alerts", "check", str(path)]) == 1
    assert f"{path}:3: rules.x.for: 'soon' is no length of time" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match=r"alerts\.toml:3: rules\.x\.for"):
        read_file(path)
    path.write_text('[rules.x]\nkind = "xid"\n')
    assert main(["alerts", "check", str(path)]) == 0
    assert "no faults" in capsys.readouterr().out


@pytest.mark.parametrize(("told", "seconds"), [("30s", 30), ("5m", 300), ("1h30m", 5400), ("1d", 86400), (7, 7)])
def test_durations(told: str | int, seconds: float) -> None:
    assert read_duration(told) == seconds
    assert read_duration(write_duration(seconds)) == seconds


@pytest.mark.parametrize("told", ["", "5", "m", "5 m", "-5m", True, None, "1e9d", -1])
def test_what_is_no_duration(told: object) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        read_duration(told)


@pytest.mark.parametrize(
    ("moment", "quiet"),
    [("2026-01-05T23:00", True), ("2026-01-06T06:59", True), ("2026-01-06T07:00", False), ("2026-01-10T12:00", True),
     ("2026-01-12T06:00", False), ("2026-01-05T21:59", False)],
)  # fmt: skip
def test_quiet_hours(moment: str, quiet: bool) -> None:
    """Nights that begin on a weekday, and weekends; 2026-01-05 is a Monday."""
    hours = (read_quiet("mon-fri 22:00-07:00"), read_quiet("sat-sun"))
    now_ns = int(datetime.fromisoformat(moment).replace(tzinfo=timezone.utc).timestamp()) * 10**9
    assert is_quiet(hours, read_zone("UTC"), now_ns) is quiet
    assert is_quiet((), read_zone("UTC"), now_ns) is False


def test_patterns() -> None:
    labels = {"host": "node-7", "rule": "gpu-drop"}
    assert matches([read_matcher("host=node-*"), read_matcher("rule!=gpu-lost")], labels)
    assert not matches([read_matcher("host=node-*"), read_matcher('rule!="gpu-drop"')], labels)
    assert not matches([], labels)
    with pytest.raises(ValueError, match="name=pattern"):
        read_matcher("node-7")


def test_scopes() -> None:
    host = HostFacts(1, "node-7", {"team": "ml"})
    gpu = GpuFacts("gpu:GPU-ab", 3, "NVIDIA H200")
    assert Scope(hosts=("node-*",), labels={"team": "m?"}).takes_host(host)
    assert not Scope(labels={"team": "web"}).takes_host(host)
    for pattern in ("3", "GPU-ab", "*H200"):
        assert Scope(gpus=(pattern,)).takes(gpu, "")
    assert not Scope(gpus=("4",)).takes(gpu, "")
    assert Scope(jobs=("python train*",)).takes(None, "python train.py")
    assert not Scope(jobs=("python train*",)).takes(gpu, "python serve.py")
