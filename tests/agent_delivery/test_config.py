"""Settings: file, environment, arguments; what is unknown or impossible is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapscope_agent.config import ENVIRONMENT_PREFIX, KEYS, AgentConfig, ConfigError, host_name_from, load_config
from gapscope_backend.cli.folder import DEFAULT_PORT


def test_arguments_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text('server = "http://a:1"\nhost = "from-file"\nbatch_seconds = 2.5\n[labels]\nrack = "7"\n')
    environment = {"GAPSCOPE_AGENT_HOST": "from-environment", "GAPSCOPE_AGENT_QUEUE_MAX_BYTES": "1000", "HOME": "/"}
    config = load_config(file, environment, server="https://b:2")
    assert (config.server, config.host, config.batch_seconds) == ("https://b:2", "from-environment", 2.5)
    assert (config.queue_max_bytes, config.labels) == (1000, {"rack": "7"})


def test_labels_from_the_environment() -> None:
    assert load_config(None, {"GAPSCOPE_AGENT_LABELS": "a=1, b=x=y"}).labels == {"a": "1", "b": "x=y"}
    with pytest.raises(ConfigError, match="name=value"):
        load_config(None, {"GAPSCOPE_AGENT_LABELS": "a"})


def test_an_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text("batch_second = 3\n")
    with pytest.raises(ConfigError, match=r"agent\.toml: batch_second: .*batch_seconds\?"):
        load_config(file, {})
    with pytest.raises(ConfigError, match="GAPSCOPE_AGENT_TOKEN_FILE"):
        load_config(None, {"GAPSCOPE_AGENT_TOKN_FILE": "x"})


@pytest.mark.parametrize(
    ("environment", "what"),
    [
        ({"GAPSCOPE_AGENT_SERVER": "localhost:80"}, "server"),
        ({"GAPSCOPE_AGENT_SERVER": "http://x/path"}, "server"),
        ({"GAPSCOPE_AGENT_HOST": "a b"}, "host"),
        ({"GAPSCOPE_AGENT_BATCH_SECONDS": "0"}, "batch_seconds"),
        ({"GAPSCOPE_AGENT_BATCH_SECONDS": "nan"}, "batch_seconds"),
        ({"GAPSCOPE_AGENT_BATCH_SECONDS": "soon"}, "batch_seconds"),
        ({"GAPSCOPE_AGENT_BATCH_SECONDS": "900"}, "batch_seconds"),
    ],
)
def test_impossible_settings_are_named(environment: dict[str, str], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        load_config(None, environment)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        load_config(tmp_path / "none.toml", {})
    broken = tmp_path / "broken.toml"
    broken.write_text("a = = 1")
    with pytest.raises(ConfigError, match=r"broken\.toml"):
        load_config(broken, {})


def test_a_token_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    config = AgentConfig(token="old", token_file=file, host="one")
    with pytest.raises(ConfigError, match="token"):
        config.bearer()
    file.write_text("one\n")
    assert config.bearer() == "one"
    file.write_text("two\n")
    assert config.bearer() == "two"
    file.write_text("two\nX-Other: header")
    with pytest.raises(ConfigError, match="one token"):
        config.bearer()


@pytest.mark.parametrize(("text", "name"), [("a b/c", "a-b-c"), ("..x..", "x"), ("", "host"), ("ü", "host")])
def test_any_text_becomes_a_valid_host_name(text: str, name: str) -> None:
    assert host_name_from(text) == name
    assert AgentConfig(host=host_name_from(text)).host == name


def test_every_key_stands_in_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    assert [key for key in KEYS if f"| `{key}` | `{ENVIRONMENT_PREFIX}{key.upper()}` |" not in text] == []


def test_the_default_server_is_where_one_listens() -> None:
    assert AgentConfig(host="one").server == f"http://127.0.0.1:{DEFAULT_PORT}"
