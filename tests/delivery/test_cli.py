"""``gapscope alerts channels|test|deliveries|resend`` on a data folder."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gapscope_backend.cli.main import main


class Receiver(BaseHTTPRequestHandler):
    """Takes everything, in a thread of its own: the command has an event loop."""

    got: list[dict[str, str]]
    status = 204

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append(dict(self.headers.items()))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[tuple[str, type[Receiver]]]:
    kind = type("Own", (Receiver,), {"got": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", kind
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_channel_from_its_making_to_its_end(
    tmp_path: Path, receiver: tuple[str, type[Receiver]], capsys: pytest.CaptureFixture[str], empty_file: Path
) -> None:
    url, kind = receiver
    data, config, address = tmp_path / "data", tmp_path / "config.toml", tmp_path / "url"
    data.mkdir()
    (data / "gapscope.db").write_bytes(empty_file.read_bytes())
    config.write_text('[server]\nwebhook_allow = ["127.0.0.1"]\n')
    address.write_text(f"{url}\n")

    def call(*words: str, allowed: bool = True) -> tuple[int, str, str]:
        more = ("--config", str(config)) if allowed else ()
        code = main(["alerts", *words, "--data", str(data), *more])
        return code, *capsys.readouterr()

    assert "no channels yet" in call("channels")[1]
    made = ("channels", "put", "ops", "--kind", "webhook", "--url-file", str(address))
    code, _, error = call(*made, allowed=False)
    assert (code, kind.got) == (2, [])
    assert "webhook_allow" in error
    code, out, _ = call(*made)
    (secret,) = re.findall(r"shown this once: (whsec_\S+)", out)
    assert code == 0
    code, out, _ = call("channels", "rotate", "ops")
    assert code == 0
    assert secret not in out
    assert "2 secrets" in call("channels")[1]
    assert call("channels", "drop-old-secret", "ops")[0] == 0
    assert call("channels", "put", "ops", "--heartbeat", "60", "--no-alerts")[0] == 0
    listed = call("channels")[1]
    assert "heartbeat every 60 s  no alerts" in listed
    assert "secret" not in listed
    code, out, _ = call("test", "ops")
    assert (code, len(kind.got), "delivered in" in out) == (0, 1, True)
    assert kind.got[0]["webhook-signature"].count("v1,") == 1
    kind.status = 500
    code, _, error = call("test", "ops")
    assert (code, "answered 500" in error) == (1, True)
    rows = json.loads(call("deliveries", "--json")[1])
    assert [row["state"] for row in rows] == ["failed", "delivered"]
    assert rows[0]["id"] in call("deliveries")[1]
    assert call("resend", rows[0]["id"])[0] == 0
    assert call("deliveries", "--state", "pending")[1].count("\n") == 1
    assert call("channels", "delete", "ops")[0] == 0
    assert call("channels", "delete", "ops")[0] == 2
