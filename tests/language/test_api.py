"""Answers of the API in the reader's language: by ``lang``, else by what the browser prefers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from tests.backend.batches import BatchMaker
from tests.backend.running import Backend
from tests.backend.test_hosts import SPAN, store


@pytest.fixture
def analyse() -> Callable[[Window], Verdict]:
    return diagnose


async def _get(backend: Backend, path: str, accept: str = "", status: int = 200) -> tuple[Any, str]:
    headers = {**backend.read, "Accept-Language": accept} if accept else backend.read
    response = await backend.client.get(f"/api/v1{path}", headers=headers)
    assert response.status == status, await response.text()
    return await response.json(), response.headers.get("Content-Language", "")


@pytest.mark.parametrize(
    ("query", "accept", "language"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9", "zh-Hans"),
        ("lang=zh", "", "zh-Hans"),
        ("lang=en", "zh-CN", "en"),
        ("lang=zh-Hans", "en-US", "zh-Hans"),
    ],
)
async def test_the_parameter_counts_more_than_the_browser(
    backend: Backend, maker: BatchMaker, query: str, accept: str, language: str
) -> None:
    await store(backend, maker)
    for path in (f"/hosts/node-1/diagnosis?{SPAN}", "/hosts?", "/catalog?"):
        found, said = await _get(backend, f"{path}&{query}" if query else path, accept)
        assert said == language
        assert _chinese(found) == (language == "zh-Hans")


def _chinese(found: Any) -> bool:
    first = found[0] if isinstance(found, list) else found
    text = first.get("sentence") or first["causes"][0]["title"]
    return any("一" <= character <= "鿿" for character in text)


@pytest.mark.parametrize(
    "path", [f"/hosts/node-1/check?{SPAN}", f"/hosts/node-1/contrast?{SPAN}", "/compare?a=node-1@{0}&b=node-1@{0}"]
)
async def test_every_answer_with_texts_speaks_chinese(backend: Backend, maker: BatchMaker, path: str) -> None:
    await store(backend, maker)
    span = SPAN.replace("from=", "").replace("&to=", "..")
    asked = path.format(span)
    english, _ = await _get(backend, asked)
    chinese, _ = await _get(backend, f"{asked}&lang=zh-CN")
    assert (_chinese(english), _chinese(chinese)) == (False, True)


@pytest.mark.parametrize("path", ["/hosts", "/catalog", "/hosts/node-1/diagnosis", "/incidents", "/incidents/1"])
async def test_a_language_that_is_not_spoken_is_named(backend: Backend, path: str) -> None:
    problem, _ = await _get(backend, f"{path}?lang=tlh", status=400)
    assert (problem["error"], problem["where"]) == ("malformed", "lang")
    assert problem["detail"] == "lang 'tlh' is not spoken here; there is: en, zh-Hans"
    twice, _ = await _get(backend, f"{path}?lang=en&lang=zh", status=400)
    assert "lang is given 2 times" in twice["detail"]


async def test_the_openapi_tells_of_the_parameter_and_of_strings(backend: Backend) -> None:
    described, _ = await _get(backend, "/openapi.json")
    parameters = described["paths"]["/api/v1/hosts/{host}/diagnosis"]["get"]["parameters"]
    assert "lang" in [one["name"] for one in parameters]
    assert described["components"]["schemas"]["Verdict"]["properties"]["sentence"] == {"type": "string"}
