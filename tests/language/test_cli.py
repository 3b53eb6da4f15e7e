"""Commands in the reader's language: the option, the locale, and JSON that follows the option alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from gapscope_agent.recording.read import Recording, open_recording
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.cli.columns import left, right, width, wrapped
from gapscope_backend.cli.main import main
from gapscope_backend.cli.report import render
from tests.analysis.splices import beside_each_other
from tests.contrast.recordings import DEMO
from tests.contrast.recordings import recorded as window_of

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
COMMANDS = (
    ("explain", str(DEMO)),
    ("explain", str(DEMO), "--what-differs"),
    ("check", str(DEMO)),
    ("compare", f"{DEMO}@..+20s", f"{DEMO}@+20s.."),
)


@pytest.fixture(autouse=True)
def no_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(words)
    return capsys.readouterr().out


def _texts(data: object) -> Iterator[str]:
    if isinstance(data, dict):
        yield from (text for value in data.values() for text in _texts(value))
    elif isinstance(data, list):
        yield from (text for value in data for text in _texts(value))
    elif isinstance(data, str):
        yield data


def _chinese(text: str) -> bool:
    return any("一" <= character <= "鿿" for character in text)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(w for w in words if "/" not in w))
def test_text_follows_the_option_and_the_locale(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    english = _said(capsys, *words)
    chinese = _said(capsys, *words, "--language", "zh-CN")
    assert not _chinese(english)
    assert _chinese(chinese)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert _said(capsys, *words) == chinese
    assert _said(capsys, *words, "--language", "en") == english
    monkeypatch.setenv("LC_ALL", "zh_TW.UTF-8")
    assert _said(capsys, *words) == english


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(w for w in words if "/" not in w))
def test_json_follows_the_option_alone(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    english = json.loads(_said(capsys, *words, "--json"))
    chinese = json.loads(_said(capsys, *words, "--json", "--language", "zh"))
    assert not any(map(_chinese, _texts(english)))
    assert any(map(_chinese, _texts(chinese)))
    assert _shape(english) == _shape(chinese)


def _shape(data: object) -> object:
    """All but the words of an answer."""
    if isinstance(data, dict):
        return {name: _shape(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_shape(value) for value in data]
    return type(data) if isinstance(data, str) else data


def test_the_chinese_report_says_it_all_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _said(capsys, "explain", str(DEMO), "--language", "zh-Hans").splitlines()
    assert lines[0].startswith("62 秒内，NVIDIA H200 有 ")
    for head in ("结论", "会改变该结论的情况：", "建议（P0）：", "上限：", "均值："):
        assert any(head in line for line in lines), head


def test_a_language_that_is_not_spoken_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", str(DEMO), "--language", "zh-TW"])
    assert stop.value.code == 2
    assert "zh-TW is not spoken here; there is: en, zh-Hans" in capsys.readouterr().err


def test_a_server_is_asked_in_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(request: object, timeout: float) -> None:
        asked.append(request.full_url)  # type: ignore[attr-defined]
        raise OSError("not today")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setenv("GAPSCOPE_TOKEN", "t")
    for words in ((), ("--language", "zh")):
        assert main(["explain", "gpu-7", "--server", "http://h", *words]) == 2
    assert [url.partition("?")[2] for url in asked] == ["from=now-5m&to=now", "from=now-5m&to=now&lang=zh-Hans"]


def test_the_roofs_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _said(capsys, "explain", str(DEMO)).splitlines()
    (roofs,) = [line for line in lines if line.startswith("  roofs: ")]
    assert roofs.count("(the nearest)") == 1
    assert "of peak memory bandwidth while it works" in roofs


@pytest.mark.cases
def test_jobs_are_told_where_they_tell_more_than_the_whole() -> None:
    one = diagnose(window_of("gemm-bf16"))
    assert len(one.jobs) == 1
    assert "jobs" not in render(one)
    two = diagnose(beside_each_other(window_of("gemm-bf16"), window_of("image-service-pil"), 15.0))
    lines = render(two).partition("\njobs\n")[2].splitlines()
    assert len(lines) == 2 * len(two.jobs) == 4
    assert [line.split(": ")[1].split(",")[0] for line in lines[::2]] == [job.verdict for job in two.jobs]
    assert "cpu_preprocess" in lines[2]
    assert "GPU 秒中损失" in render(two, language="zh-Hans")


def test_notes_of_a_recording_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def noted(path: object) -> Recording:
        recording = open_recording(DEMO)
        recording.origin.notes = ["No GPU figures: a word of the agent."]
        return recording

    monkeypatch.setattr("gapscope_agent.recording.read.open_recording", noted)
    assert "\nnote of the recording: No GPU figures: a word of the agent.\n" in _said(capsys, "explain", str(DEMO))
    assert "a word of the agent" not in _said(capsys, "explain", str(DEMO), "--json")


def test_columns_count_wide_characters_twice() -> None:
    assert width("GPU 空闲") == 8
    assert left("空闲", 6) + "|" == "空闲  |"
    assert left("空闲间隙", 6) == "空闲… "
    assert right("空闲", 6) == "  空闲"
    assert right("空闲间隙", 6) == "空闲间隙"


def test_lines_wrap_between_chinese_characters_and_words() -> None:
    lines = wrapped("设置 num_workers=8，并使用锁页内存；然后再试一次。", 20, "  ", "> ", "zh-Hans")
    assert lines[0].startswith("> 设置 num_workers=8，")
    assert all(line.startswith("  ") for line in lines[1:])
    assert all(width(line) <= 22 for line in lines)
    assert "".join(line[2:] for line in lines).replace(" ", "") == "设置num_workers=8，并使用锁页内存；然后再试一次。"
    assert wrapped("use fewer workers", 12, "  ", "> ", "en") == ["> use fewer", "  workers"]
