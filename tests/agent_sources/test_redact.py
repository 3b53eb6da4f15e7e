"""Secrets in command lines."""

from __future__ import annotations

import pytest

from gapscope_agent.sources.redact import HIDDEN, redact


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["mysql", "--password", "hunter2", "db"], ["mysql", "--password", HIDDEN, "db"]),
        (["x", "--db-password=hunter2"], ["x", f"--db-password={HIDDEN}"]),
        (["x", "--token", "abc", "--lr", "0.1"], ["x", "--token", HIDDEN, "--lr", "0.1"]),
        (["x", "--token", "--verbose"], ["x", "--token", "--verbose"]),
        (["env", "AWS_SECRET_ACCESS_KEY=abc", "python"], ["env", f"AWS_SECRET_ACCESS_KEY={HIDDEN}", "python"]),
        (["x", "--api-key=abc", "--key", "abc"], ["x", f"--api-key={HIDDEN}", "--key", HIDDEN]),
        (["x", "KEY=abc", "wandb_api_key=abc"], ["x", f"KEY={HIDDEN}", f"wandb_api_key={HIDDEN}"]),
        (["sh", "-c", "export HF_TOKEN=abc; run"], ["sh", "-c", f"export HF_TOKEN={HIDDEN}; run"]),
        (["x", "postgres://me:pw@host/db"], ["x", f"postgres://me:{HIDDEN}@host/db"]),
        (["curl", "-H", "Authorization: Bearer abc.def"], ["curl", "-H", f"Authorization: Bearer {HIDDEN}"]),
        (["x", "hf_abcdefghijkl"], ["x", HIDDEN]),
    ],
)
def test_secrets_are_hidden(words: list[str], shown: list[str]) -> None:
    assert redact(words) == shown


@pytest.mark.parametrize(
    "words",
    [
        ["python", "train.py", "--lr", "0.1", "--max-tokens", "512", "--tokenizer", "gpt2"],
        ["python", "-m", "serve", "--max_new_tokens=64", "--tokenizer=/models/t", "--keyboard", "x"],
        ["torchrun", "--nproc-per-node", "8", "--rdzv-endpoint", "host:29500"],
        ["x", "--monkey", "see", "https://host/path?a=1"],
    ],
)
def test_ordinary_words_stay(words: list[str]) -> None:
    assert redact(words) == words
