"""Signatures: ours and those of the library of Standard Webhooks verify each other."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from gapscope_backend.alerts.signing import new_secret, signature, signed_headers, verify
from gapscope_backend.errors import MalformedError

BODY = json.dumps({"type": "gapscope.alert.firing", "data": {"sentence": "GPU 0 等待 CPU"}}).encode()


def test_the_library_verifies_ours() -> None:
    secret = new_secret()
    headers = signed_headers([secret], "msg_1", int(time.time()), BODY)
    assert Webhook(secret).verify(BODY, headers) == json.loads(BODY)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(BODY, headers)


def test_we_verify_the_librarys() -> None:
    secret, now = new_secret(), int(time.time())
    signed = Webhook(secret).sign("msg_1", datetime.fromtimestamp(now, timezone.utc), BODY.decode())
    headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(now), "Webhook-Signature": signed}
    assert signed == signature(secret, "msg_1", now, BODY)
    assert verify([secret], headers, BODY, now)
    assert not verify([secret], headers, BODY + b" ", now)
    assert not verify([secret], headers | {"Webhook-Id": "msg_2"}, BODY, now)
    assert not verify([new_secret()], headers, BODY, now)
    for late in (-301, 301):
        assert not verify([secret], headers, BODY, now + late)
    for spoilt in ("", "x", "9" * 40, "-1"):
        assert not verify([secret], headers | {"Webhook-Timestamp": spoilt}, BODY, now)


def test_while_a_secret_is_changed_both_verify() -> None:
    old, new = new_secret(), new_secret()
    headers = signed_headers([new, old], "msg_1", int(time.time()), BODY)
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        assert Webhook(secret).verify(BODY, headers)
        assert verify([secret], headers, BODY, time.time())


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "c2hvcnQ=" * 8, "whsec_é"])
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(MalformedError, match="whsec_"):
        signature(secret, "msg_1", 0, BODY)
