"""Each kind of channel: what it tells, in both languages, what it escapes, and its target's limits."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from standardwebhooks.webhooks import Webhook

from gapscope_backend.alerts.channels import KINDS, Envelope, Outgoing, Settings, dingtalk, feishu, pagerduty, slack
from gapscope_backend.alerts.message import Message, from_plain
from gapscope_backend.alerts.own_messages import message_of_heartbeat, message_of_test
from gapscope_backend.alerts.signing import new_secret, verify
from gapscope_backend.alerts.times import iso
from tests.delivery.messages import BEGAN, GROUP, NOW, SECOND, alert_line, channel, message, nasty, resolved

URLS = {
    "webhook": "https://receiver.example/hook",
    "slack": "https://hooks.slack.com/services/T0/B0/XXXXXXXX",
    "feishu": "https://open.feishu.cn/open-apis/bot/v2/hook/abc",
    "dingtalk": "https://oapi.dingtalk.com/robot/send?access_token=abc",
    "pagerduty": "",
    "alertmanager": "https://alertmanager.example",
}
SECRETS = {
    "webhook": (new_secret(),),
    "feishu": ("feishu-secret",),
    "dingtalk": ("SECdingtalk",),
    "pagerduty": ("R" * 32,),
}
CHATS = ("slack", "feishu", "dingtalk")
MOST_BYTES = {"slack": 40_000, "feishu": 20_000, "dingtalk": 20_000, "pagerduty": 512_000}


def built(kind: str, told: Message, **settings: Any) -> Outgoing:
    envelope = Envelope("msg_1", "ops", Settings(url=URLS[kind], **settings), SECRETS.get(kind, ()), NOW - SECOND, NOW)
    return KINDS[kind].build(told, envelope)


def body_of(kind: str, told: Message, **settings: Any) -> Any:
    return json.loads(built(kind, told, **settings).body)


def strings(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [text for key, value in data.items() for text in (key, *strings(value))]
    if isinstance(data, list):
        return [text for value in data for text in strings(value)]
    return [data] if isinstance(data, str) else []


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_tells_what_happened_and_where_to_look(kind: str) -> None:
    text = "\n".join(strings(body_of(kind, message()))).replace("\\", "")
    wanted = ["node-7", "waited 71%", "https://gapscope.example/host/node-7", "decode (pipeline/images.py:118)"]
    if kind != "alertmanager":
        wanted += ["Utilization drop"]
    for part in (*wanted, "▇▇▇▇▇▇▇▇▇▇▇▇▂▂▂▂▂▂▂▂▂▂▂·", "GPU active, last 4 min", "CPU work in the process"):
        assert part in text.replace("&amp;", "&"), part
    if kind in CHATS or kind == "pagerduty":
        assert "2026-12-01 " in text
        assert "71% of the GPU time, 43.0 GPU-seconds" in text


@pytest.mark.parametrize("kind", KINDS)
def test_it_speaks_the_language_of_its_channel(kind: str) -> None:
    text = "\n".join(strings(body_of(kind, message(language="zh-Hans")))).replace("\\", "")
    assert "waited" not in text
    assert re.search("[一-鿿]", text)
    if kind in CHATS:
        assert "告警：Utilization drop，主机 node-7" in text
        assert "GPU 时间去向" in text


@pytest.mark.parametrize("kind", KINDS)
def test_own_messages_need_nothing_but_themselves(kind: str) -> None:
    for made in (
        message_of_test(channel(kind), "https://gapscope.example", NOW, NOW),
        message_of_heartbeat(channel(kind), 60, NOW),
    ):
        told = from_plain(made.message)
        assert any("Gapscope" in text for text in strings(body_of(kind, told, heartbeat_seconds=60)))


@pytest.mark.parametrize("length", [1, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_what_hosts_say_stays_text_and_within_bounds(kind: str, length: int) -> None:
    out = built(kind, nasty(length))
    data = json.loads(out.body)  # lone surrogates and control characters would have failed here, or in encoding
    shown = [text for text in strings(data) if kind != "webhook"]
    assert not any(re.search("[\x00-\x09\x0b-\x1f\x7f\u202e\u2028]", text) for text in shown)
    assert len(out.body) <= MOST_BYTES.get(kind, 2**20)
    assert re.fullmatch(r"https://[\x21-\x7e]+", out.url)


@pytest.mark.parametrize("length", [1, 30])
def test_slack_gets_no_markup_from_names(length: int) -> None:
    data = body_of("slack", nasty(length))
    assert len(data["blocks"]) <= 50
    for block in data["blocks"]:
        for text in (block.get("text"), *block.get("elements", [])):
            if text is not None:
                assert len(text["text"]) <= (150 if block["type"] == "header" else 3000)
                if text["type"] == "mrkdwn":
                    own = re.sub(r"<https://gapscope\.example[^<>|]*\|[^<>|]*>", "", text["text"])
                    assert not re.search(r"[<>]", own)
                    assert own.count("```") in (0, 2)
    assert not re.search("[<>]", data["text"])


def test_slack_shows_links_as_links() -> None:
    text = body_of("slack", message())["blocks"][-1]["text"]["text"]
    assert text.startswith(
        "<https://gapscope.example/host/node-7?from=1796116940000&amp;to=1796117075000|Open in Gapscope>"
    )


@pytest.mark.parametrize("length", [1, 30])
def test_feishu_calls_nobody(length: int) -> None:
    data = body_of("feishu", nasty(length))
    (post,) = data["content"]["post"].values()
    parts = [part for line in post["content"] for part in line]
    assert {part["tag"] for part in parts} <= {"text", "a"}
    assert not any(re.search(r"<\s*/?\s*at\b", part["text"], re.IGNORECASE) for part in parts)
    assert [part["href"] for part in parts if part["tag"] == "a"] == [message().link, message().silence_link]


def test_feishu_signs_as_it_asks_for() -> None:
    data = body_of("feishu", message())
    timestamp = str(NOW // SECOND)
    wanted = base64.b64encode(hmac.new(f"{timestamp}\nfeishu-secret".encode(), b"", hashlib.sha256).digest()).decode()
    assert (data["timestamp"], data["sign"]) == (timestamp, wanted)
    unsigned = KINDS["feishu"].build(message(), Envelope("m", "ops", Settings(url=URLS["feishu"]), (), NOW, NOW))
    assert "sign" not in json.loads(unsigned.body)


@pytest.mark.parametrize("length", [1, 30])
def test_dingtalk_gets_no_markup_and_calls_nobody(length: int) -> None:
    data = body_of("dingtalk", nasty(length))
    assert data["at"] == {"isAtAll": False}
    text = data["markdown"]["text"]
    assert "@" not in text
    assert not re.search(r"(?<!\\)<|(?<!\\)`", text)
    assert set(re.findall(r"(?<!\\)\]\((.*?)\)", text)) <= {message().link, message().silence_link}
    assert not re.search(r"(?<!\\)!\[", text)


def test_dingtalk_signs_in_its_address() -> None:
    query = parse_qs(urlsplit(built("dingtalk", message()).url).query)
    timestamp = str(NOW // 10**6)
    wanted = hmac.new(b"SECdingtalk", f"{timestamp}\nSECdingtalk".encode(), hashlib.sha256).digest()
    assert query == {"access_token": ["abc"], "timestamp": [timestamp], "sign": [base64.b64encode(wanted).decode()]}


@pytest.mark.parametrize(
    ("refusal", "body", "said"),
    [
        (feishu.refusal, b'{"code":0,"msg":"success"}', ""),
        (feishu.refusal, b'{"StatusCode":0}', ""),
        (feishu.refusal, b'{"code":19021,"msg":"sign match fail"}', "code 19021: sign match fail"),
        (feishu.refusal, b"<html>", "an answer without a code"),
        (dingtalk.refusal, b'{"errcode":0,"errmsg":"ok"}', ""),
        (
            dingtalk.refusal,
            b'{"errcode":310000,"errmsg":"keywords not in content"}',
            "code 310000: keywords not in content",
        ),
        (dingtalk.refusal, b"[1]", "an answer without a code"),
    ],
)
def test_bots_refuse_in_the_body(refusal: Any, body: bytes, said: str) -> None:
    assert refusal(body) == said


def test_pagerduty_has_one_incident_a_group() -> None:
    begun, over = body_of("pagerduty", message()), body_of("pagerduty", resolved())
    assert built("pagerduty", message()).url == pagerduty.URL
    assert (begun["event_action"], over["event_action"]) == ("trigger", "resolve")
    assert begun["dedup_key"] == over["dedup_key"] == GROUP
    assert begun["routing_key"] == over["routing_key"] == "R" * 32
    assert begun["payload"]["severity"] == "warning"
    assert begun["payload"]["timestamp"] == iso(BEGAN)
    long = body_of("pagerduty", nasty(30))
    assert len(long["dedup_key"]) <= 255
    assert len(long["payload"]["summary"]) <= 1024
    assert long["payload"]["severity"] in ("critical", "error", "warning", "info")


def test_alertmanager_knows_an_alert_by_the_same_labels_until_it_is_over() -> None:
    begun = body_of("alertmanager", message())
    other = alert_line(labels={"team": "vision", "gpu": "0", "cause": "io_wait"}, state="resolved", ended_ns=NOW)
    over = body_of("alertmanager", resolved(alerts=[other], cause="io_wait"))
    assert built("alertmanager", message()).url == "https://alertmanager.example/api/v2/alerts"
    assert begun[0]["labels"] == over[0]["labels"]
    assert begun[0]["labels"] == {
        "alertname": "utilization-drop",
        "severity": "warning",
        "host": "node-7",
        "subject": "gpu:GPU-1",
        "team": "vision",
        "gpu": "0",
    }
    assert begun[0]["startsAt"] == over[0]["startsAt"] < over[0]["endsAt"] < begun[0]["endsAt"]
    for name in (name for alert in body_of("alertmanager", nasty()) for name in alert["labels"]):
        assert re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name)


def test_a_webhook_tells_all_and_is_signed() -> None:
    out = built("webhook", message(), headers={"Authorization": "Bearer x"})
    data = json.loads(out.body)
    assert (data["type"], data["timestamp"][-1]) == ("gapscope.alert.firing", "Z")
    assert data["data"]["alerts"][0]["labels"] == alert_line().labels
    assert data["data"]["sentence"].startswith("GPU 0 waited 71%")
    assert data["data"]["ended"] is None
    assert "started_ns" not in data["data"]
    assert out.headers["Authorization"] == "Bearer x"
    assert out.headers["webhook-id"] == "msg_1"
    assert verify(SECRETS["webhook"], out.headers, out.body, NOW // SECOND)


def test_the_library_of_standard_webhooks_takes_a_whole_webhook() -> None:
    now_ns = time.time_ns()
    envelope = Envelope("msg_1", "ops", Settings(url=URLS["webhook"]), SECRETS["webhook"], now_ns, now_ns)
    out = KINDS["webhook"].build(message(), envelope)
    assert Webhook(SECRETS["webhook"][0]).verify(out.body, dict(out.headers))["type"] == "gapscope.alert.firing"


def test_slack_escapes_what_it_reads_as_markup() -> None:
    assert slack.escape("<!channel> & more") == "&lt;!channel&gt; &amp; more"
