"""Messages as the alerts write them, plain and nasty."""

from __future__ import annotations

from typing import Any

import msgspec

from gapscope_backend.alerts.message import AlertLine, LedgerLine, Message, Sparkline, blocks, to_plain
from gapscope_backend.analysis.language import Text
from gapscope_backend.store.alert_models import Channel, Delivery

SECOND = 10**9
BEGAN = 1_796_117_000 * SECOND
NOW = BEGAN + 75 * SECOND
GROUP = "utilization-drop/node-7"
SENTENCE = Text(
    "{gpu!u} waited {share:.0%} of {time} for CPU work in the process that feeds it{where}.",
    gpu="GPU 0",
    share=0.71,
    time=Text("the 60.0 s"),
    where="",
)
TITLES = (
    Text("CPU work in the process that feeds the GPU"),
    Text("Host and GPU wait for each other at each step"),
    Text("The GPU worked"),
)


def alert_line(**told: Any) -> AlertLine:
    plain: dict[str, Any] = {
        "id": "a1",
        "host": "node-7",
        "subject": "gpu:GPU-1",
        "subject_name": Text("GPU 0"),
        "state": "firing",
        "sentence": SENTENCE,
        "value": 0.12,
        "threshold": 0.6,
        "unit": "ratio",
        "began_ns": BEGAN,
        "labels": {"team": "vision", "gpu": "0", "cause": "cpu_preprocess"},
    }
    return AlertLine(**{**plain, **told})


def message(**told: Any) -> Message:
    plain: dict[str, Any] = {
        "state": "firing",
        "rule": "utilization-drop",
        "rule_name": "Utilization drop",
        "severity": "warning",
        "group_key": GROUP,
        "sequence": 3,
        "sentence": SENTENCE,
        "started_ns": BEGAN,
        "ended_ns": None,
        "host": "node-7",
        "subjects": ["GPU 0"],
        "cause": "cpu_preprocess",
        "cause_title": TITLES[0],
        "row_class": "fault",
        "confidence": 0.84,
        "ledger": [
            LedgerLine(cause=f"c{row}", title=title, row_class="fault", gpu_seconds=43.0 - row, share=0.71 / (row + 1))
            for row, title in enumerate(TITLES)
        ],
        "top_stack": ["decode (pipeline/images.py:118)", "<listcomp> (pipeline/batch.py:40)", "serve (app.py:12)"],
        "sparkline": Sparkline(
            text=blocks([0.9] * 12 + [0.1] * 11 + [None]), scale=Text("GPU active, last 4 min, 0-100 %")
        ),
        "link": "https://gapscope.example/host/node-7?from=1796116940000&to=1796117075000",
        "silence_link": "https://gapscope.example/alerts?silence=utilization-drop",
        "alerts": [alert_line()],
        "count": 1,
        "labels": {"team": "vision"},
        "repeat_seconds": 14400.0,
    }
    return Message(**{**plain, **told})


def resolved(**told: Any) -> Message:
    over = {"state": "resolved", "ended_ns": NOW, "alerts": [alert_line(state="resolved", ended_ns=NOW)]}
    return message(**{**over, **told})


EVIL = (
    "</a><script>alert(1)</script> <!channel> <!everyone> <@U123> <https://evil.example|click>"
    ' <at user_id="all">all</at> [click](https://evil.example) **b** _i_ `c` ```x``` # h ~s~ > q @all'
    " @13800000000 &amp; \x00\x1b[31m\u202e\u2028\ud800 :smile: {brace} %s \" ' \\ \n- item\n![i](https://evil.example/i.png)"
)


def nasty(length: int = 1) -> Message:
    """What a host that means harm may put into each of its names, ``length`` times over."""
    evil = EVIL * length
    said = Text("{words}", words=evil)
    return message(
        sentence=said,
        host=evil,
        rule_name=evil,
        subjects=[evil] * 8,
        cause=evil,
        cause_title=said,
        ledger=[LedgerLine(cause=evil, title=said, row_class=evil, gpu_seconds=1.0, share=0.5) for _ in range(3)],
        top_stack=[evil] * 5,
        sparkline=Sparkline(text="█" * 24, scale=said),
        group_key=evil,
        alerts=[alert_line(host=evil, subject=evil, subject_name=said, sentence=said, labels={evil: evil})] * 10,
        count=400,
        labels={evil: evil, "text": "x", "values": "y"},
    )


def channel(kind: str, url: str = "", **told: Any) -> Channel:
    settings = {"url": url, **told.pop("settings", {})}
    plain: dict[str, Any] = {
        "id": "ops",
        "kind": kind,
        "name": "Operations",
        "settings": settings,
        "secrets": [],
        "enabled": True,
        "origin": "api",
        "revision": 1,
        "updated_ns": 0,
    }
    return Channel(**{**plain, **told})


def delivery(number: int = 1, told: Message | None = None, **columns: Any) -> Delivery:
    told = told or message()
    plain: dict[str, Any] = {
        "host_id": 0,
        "id": f"msg_{number:032x}",
        "channel_id": "ops",
        "group_key": told.group_key,
        "kind": told.state,
        "state": "pending",
        "message": to_plain(told),
        "alerts": ["a1"],
        "created_ns": NOW,
        "due_ns": NOW,
        "attempts": 0,
        "log": [],
        "resend_of": "",
        "done_ns": None,
    }
    return Delivery(**{**plain, **columns})


def decoded(body: bytes) -> Any:
    return msgspec.json.decode(body)
