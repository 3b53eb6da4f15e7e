"""Settings: file, environment, arguments; what is unknown or impossible is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapscope_agent.config import (
    ENVIRONMENT_PREFIX,
    KEYS,
    STACK_KEYS,
    STACKS_PREFIX,
    AgentConfig,
    ConfigError,
    host_name_from,
    load_config,
)
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
    plain = [(key, f"{ENVIRONMENT_PREFIX}{key.upper()}") for key in KEYS if key != "stacks"]
    stacks = [(key, f"{STACKS_PREFIX}{key.upper()}") for key in STACK_KEYS]
    assert [key for key, name in plain + stacks if f"| `{key}` | `{name}` |" not in text] == []


def test_the_stacks_table_from_file_and_environment(tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text('[stacks]\nmode = "continuous"\nrate_hertz = 5\nhelper_socket = "/run/x.sock"\n')
    environment = {"GAPSCOPE_AGENT_STACKS_RATE_HERTZ": "20", "GAPSCOPE_AGENT_STACKS_STRIP_PREFIXES": "/srv/app:/opt"}
    stacks = load_config(file, environment).stacks
    assert (stacks.mode, stacks.rate_hertz, stacks.helper_socket) == ("continuous", 20, Path("/run/x.sock"))
    assert stacks.strip_prefixes == ("/srv/app", "/opt")
    assert load_config(None, {}).stacks.mode == "on_drop"


@pytest.mark.parametrize(
    ("text", "environment", "what"),
    [
        ("[stacks]\nmod = 1\n", {}, r"stacks\.mod: .*stacks\.mode\?"),
        ("stacks = 3\n", {}, r"\[stacks\]"),
        ('[stacks]\nmode = "always"\n', {}, "always"),
        ("[stacks]\nrate_hertz = 500\n", {}, "rate_hertz"),
        ("", {"GAPSCOPE_AGENT_STACKS_MOD": "off"}, "GAPSCOPE_AGENT_STACKS_MODE"),
        ("", {"GAPSCOPE_AGENT_STACKS": "off"}, "GAPSCOPE_AGENT_STACKS_MODE"),
    ],
)
def test_impossible_settings_of_stacks_are_named(
    tmp_path: Path, text: str, environment: dict[str, str], what: str
) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=what):
        load_config(file, environment)


def test_the_default_server_is_where_one_listens() -> None:
    assert AgentConfig(host="one").server == f"http://127.0.0.1:{DEFAULT_PORT}"
