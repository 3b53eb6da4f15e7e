"""What leaves the host of paths and source lines, and which files are never read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gapscope_agent.reading import Frame, ThreadStack
from gapscope_agent.sources.redact import redact_line
from gapscope_agent.stacks.paths import FrameRedactor
from gapscope_agent.stacks.source_lines import MAX_FILE_BYTES, MAX_LINE_CHARACTERS, SourceLines
from tests.agent_stacks.conftest import HOME

ME = os.getpid()


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (HOME + "/job/train.py", "~/job/train.py"),
        ("/root" + "/x.py", "~/x.py"),
        ("/rooted/x.py", "/rooted/x.py"),
        ("/srv/app/v2/x.py", "x.py"),
        ("/srv/app/x.py", "x.py"),
        ("/usr/lib/python3/x.py", "/usr/lib/python3/x.py"),
        ("<string>", "<string>"),
    ],
)
def test_homes_and_named_prefixes_are_cut(file: str, shown: str) -> None:
    assert FrameRedactor(["/srv/app", "/srv/app/v2/"], sources=True).path(file) == shown


def test_source_lines_can_be_left_out_and_secrets_in_them_are_hidden() -> None:
    stack = ThreadStack(tid=1, frames=[Frame("f", "/a.py", 1, "login(password='hunter2')")])
    (kept,) = FrameRedactor([], sources=True).threads([stack])
    (left_out,) = FrameRedactor([], sources=False).threads([stack])
    assert kept.frames[0].source is not None
    assert "hunter2" not in kept.frames[0].source
    assert left_out.frames[0].source is None


@pytest.mark.parametrize(
    "line",
    ['api_key = "abc"', "d['token'] = 'abc'", 'os.environ["SECRET_KEY"] = "abc"', "x(db_password = f'abc')"],
)
def test_literals_of_secret_names_are_hidden(line: str) -> None:
    assert "abc" not in redact_line(line)


@pytest.mark.parametrize("line", ["out = model(tokens)", 'max_tokens="12"', "for token in tokenizer('abc'):"])
def test_other_lines_stay(line: str) -> None:
    assert redact_line(line) == line


def test_one_line_is_read_without_its_indentation(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(f"first\n    second = 1\n{'x' * 1000}\n\n")
    lines = SourceLines()
    found = [lines.line(ME, str(file), number) for number in (0, 1, 2, 3, 4, 5)]
    assert found == [None, "first", "second = 1", "x" * MAX_LINE_CHARACTERS, None, None]


def test_a_file_that_changed_is_read_anew_once_the_process_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\n")
    lines = SourceLines()
    assert lines.line(ME, str(file), 1) == "one"
    file.write_text("two\n")
    lines.forget(ME)
    assert lines.line(ME, str(file), 1) == "two"


def test_only_regular_python_files_are_read(tmp_path: Path) -> None:
    secret = tmp_path / "shadow"
    secret.write_text("secret\n")
    (tmp_path / "link.py").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "big.py").write_text("x\n" * (MAX_FILE_BYTES // 2 + 1))
    lines = SourceLines()
    for name in ("shadow", "link.py", "pipe.py", "big.py", "none.py"):
        assert lines.line(ME, str(tmp_path / name), 1) is None, name
    assert lines.line(ME, "relative.py", 1) is None
    assert lines.line(1 << 29, str(tmp_path / "big.py"), 1) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a file to another user")
def test_files_of_a_third_user_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("text\n")
    os.chown(file, 4242, 4242)
    assert SourceLines().line(ME, str(file), 1) is None
