"""The payloads in docs/webhooks.md are those that are sent; ``python -m tests.delivery.test_docs`` writes them anew."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from gapscope_backend.alerts.channels import KINDS, Envelope, Settings
from gapscope_backend.alerts.signing import new_secret, signed_headers
from tests.delivery.messages import NOW, SECOND, message

DOCS = Path(__file__).parents[2] / "docs" / "webhooks.md"
_EXAMPLE = r"<!-- {kind} -->\n(?:```json\n.*?```\n)?"
SECRETS = {"webhook": new_secret(), "feishu": "secret", "dingtalk": "SECret", "pagerduty": "R" * 32}


def example(kind: str) -> str:
    """The body of a message to a channel of a kind; what changes with the secret is left out."""
    settings = Settings(url="https://alertmanager.example")
    secrets = (SECRETS[kind],) if kind in ("pagerduty", "webhook") else ()
    out = KINDS[kind].build(message(), Envelope("msg_1", "ops", settings, secrets, NOW - SECOND, NOW))
    return f"<!-- {kind} -->\n```json\n{json.dumps(json.loads(out.body), indent=2, ensure_ascii=False)}\n```\n"


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_of_each_kind_is_what_is_sent(kind: str) -> None:
    found = re.search(_EXAMPLE.format(kind=kind), DOCS.read_text(), re.DOTALL)
    assert found is not None
    assert found[0] == example(kind)


def test_the_verification_in_the_docs_verifies() -> None:
    (code,) = re.findall(r"```python\n(import base64.*?)```", DOCS.read_text(), re.DOTALL)
    known: dict[str, Any] = {}
    exec(code, known)
    old, new, body = new_secret(), new_secret(), b'{"type":"gapscope.test"}'
    headers = signed_headers([new, old], "msg_1", int(time.time()), body)
    assert [known["verified"](secret, headers, body) for secret in (old, new, new_secret())] == [True, True, False]
    assert not known["verified"](new, headers, body + b" ")
    assert not known["verified"](new, signed_headers([new], "msg_1", int(time.time()) - 600, body), body)


if __name__ == "__main__":
    text = DOCS.read_text()
    for name in KINDS:
        before = re.search(_EXAMPLE.format(kind=name), text, re.DOTALL)
        text = text if before is None else text.replace(before[0], example(name))
    DOCS.write_text(text)
