"""Which language a tag, a locale or a browser asks for."""

from __future__ import annotations

import pytest

from gapscope_backend.analysis.language import language_of_environment, language_of_header, read_language


@pytest.mark.parametrize(
    "tag", ["zh", "zh-CN", "zh_CN.UTF-8", "zh-Hans", "zh_SG", "ZH-hans-HK", "zh_CN@pinyin", " zh "]
)
def test_simplified_chinese_in_all_its_forms(tag: str) -> None:
    assert read_language(tag) == "zh-Hans"


@pytest.mark.parametrize("tag", ["en", "en_US.UTF-8", "en-GB"])
def test_english(tag: str) -> None:
    assert read_language(tag) == "en"


@pytest.mark.parametrize("tag", ["zh-TW", "zh_HK.UTF-8", "zh-Hant", "zh-Hant-CN", "de", "C", "", "zhx", "*"])
def test_others_are_not_spoken(tag: str) -> None:
    assert read_language(tag) is None


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh-Hans"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN"}, "zh-Hans"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh-Hans"),
        ({"LANG": "zh_TW.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_of_a_terminal(environment: dict[str, str], language: str) -> None:
    assert language_of_environment(environment) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh-Hans"),
        ("en-US,en;q=0.9,zh-CN;q=0.8", "en"),
        ("de, zh;q=0.3, en;q=0.2", "zh-Hans"),
        ("zh;q=0, en;q=0.1", "en"),
        ("zh-TW,zh;q=0.5", "zh-Hans"),
        ("fr,de", "en"),
        ("zh;q=often", "en"),
        ("zh;level=1", "zh-Hans"),
    ],
)
def test_what_a_browser_prefers(header: str, language: str) -> None:
    assert language_of_header(header) == language
