"""``gapscope agent --check``: the token's form, and what a real server says to it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gapscope_agent.config import AgentConfig
from gapscope_agent.token_check import TokenError, check_form, check_token
from gapscope_backend.cli.main import main
from gapscope_backend.services import access
from tests.backend.batches import NOW
from tests.backend.running import Backend


def config_for(backend: Backend, token: str | None, host: str = "node-1") -> AgentConfig:
    address = backend.client.make_url("/")
    return AgentConfig(server=str(address), token=token, host=host)


async def test_a_good_token_is_taken(backend: Backend) -> None:
    token = await access.create_token(backend.database, "ingest", "node-*", "", NOW)
    assert await check_token(config_for(backend, token)) == "the server takes the token for this host"
    with pytest.raises(TokenError, match=r"\(403\).*'other'"):
        await check_token(config_for(backend, token, "other"))


async def test_unusable_tokens_are_named(backend: Backend) -> None:
    revoked = await access.create_token(backend.database, "ingest", "*", "", NOW)
    await access.revoke_token(backend.database, revoked[:12], NOW)
    with pytest.raises(TokenError, match=r"\(401\).*revoked"):
        await check_token(config_for(backend, revoked))
    with pytest.raises(TokenError, match="read token"):
        await check_token(config_for(backend, backend.read_token))
    with pytest.raises(TokenError, match="no token"):
        await check_token(config_for(backend, None))
    with pytest.raises(TokenError, match="cut short"):
        check_form(revoked[:-1])
    with pytest.raises(TokenError, match="begin with gsi_"):
        check_form("secret")


def test_the_command_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "token"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        words = ["agent", "--check", "--host", "node-1", "--token-file", str(file)]
        words += ["--server", f"http://127.0.0.1:{taken.getsockname()[1]}"]
        assert main(words) == 1
        assert "token_file" in capsys.readouterr().err
        file.write_text("gsi_" + "0" * 56)
        assert main(words) == 1
        assert "checksum" in capsys.readouterr().err
        file.write_text("gsi_" + "0" * 48 + "50df9bcb")
        assert main(words) == 0
        assert "the server cannot be reached" in capsys.readouterr().out
