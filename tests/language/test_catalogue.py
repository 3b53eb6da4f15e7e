"""No text without its Chinese: every template in the sources, and every text that answers on recordings hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gapscope_backend.analysis.checklist import run_checklist
from gapscope_backend.analysis.compare import compare
from gapscope_backend.analysis.contrast import contrast
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.language import Text, read_message
from gapscope_backend.analysis.language.text import CATALOGUES, fields_of
from gapscope_backend.analysis.window import Process, Window
from gapscope_backend.cli.report import render
from gapscope_backend.cli.windows import window_of_recording
from tests.analysis.ablations import ABLATIONS
from tests.analysis.accuracy import CASES, case_names, load
from tests.contrast.recordings import DEMO

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "backend" / "gapscope_backend"
CHINESE = CATALOGUES["zh-Hans"]
TEXT_FIELDS = {"title", "text", "would_change", "advice", "expected_gain", "label", "sentence", "figure", "question"}
"""Fields of answers that people read; ``Side.label`` and ``Hotspot.source`` hold names and code."""


def _calls() -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text":
                yield path, node


def templates() -> set[str]:
    found = {node.args[0].value for _, node in _calls() if isinstance(node.args[0], ast.Constant)}
    return {text for text in found if isinstance(text, str)}


def test_templates_stand_in_the_sources_as_they_are() -> None:
    """What is put together at run time cannot be translated; only stored texts are made of what was read."""
    made = [
        path.relative_to(SOURCES).as_posix() for path, node in _calls() if not isinstance(node.args[0], ast.Constant)
    ]
    assert set(made) == {"analysis/language/text.py", "services/incident_verdict.py"}
    assert made.count("services/incident_verdict.py") == 1


def test_every_template_has_its_chinese_with_the_same_fields() -> None:
    found = templates()
    assert len(found) > 300
    assert sorted(found - CHINESE.keys()) == []
    braces = {text for text in found if "{ }" in text}
    assert {text: CHINESE[text] for text in found - braces if fields_of(text) != fields_of(CHINESE[text])} == {}


def test_the_catalogue_holds_nothing_that_nobody_says() -> None:
    assert sorted(CHINESE.keys() - templates()) == []


def test_chinese_is_written_as_chinese() -> None:
    """Full-width punctuation between Chinese characters; every sentence of words has Chinese ones."""
    faults = [text for text in CHINESE.values() if re.search(r"[一-鿿][,;:!?()]|[,;!?()][一-鿿]", text)]
    assert faults == []
    words = [text for text, said in CHINESE.items() if re.search(r"[a-z]{3} [a-z]{3}", re.sub(r"\{[^}]*\}", "", text))
             and not re.search("[一-鿿]", said)]  # fmt: skip
    assert words == []


def _strings(answer: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Fields with their values, all the way down."""
    if is_dataclass(answer):
        for field in fields(answer):
            kind = type(answer).__name__
            told = field.name if kind != "Side" or field.name != "label" else "name"
            yield from _strings(getattr(answer, field.name), told)
    elif isinstance(answer, tuple | list):
        for part in answer:
            yield from _strings(part, name)
    else:
        yield name, answer


def _check(answer: Any) -> int:
    texts = 0
    for name, value in _strings(answer):
        if name in TEXT_FIELDS or name == "notes":
            assert isinstance(value, Text), (name, value)
        if isinstance(value, Text):
            assert value.template in CHINESE, value.template
            assert read_message(value.message()).render("zh-Hans") == value.render("zh-Hans")
            texts += 1
    return texts


def _check_all(window: Window) -> None:
    verdict = diagnose(window)
    assert _check(verdict) > 0
    assert _check(run_checklist(window)) > 20
    assert sum(_check(contrast(window, gpu)) for gpu in window.gpus) >= len(window.gpus)
    assert _check(compare([("a", window), ("b", window)])) > 0
    assert re.search("[一-鿿]", render(verdict, language="zh-Hans"))


@pytest.mark.cases
@pytest.mark.parametrize("name", case_names())
def test_answers_on_a_recorded_case_hold_texts(name: str) -> None:
    _check_all(load(name).window)


@pytest.mark.cases
@pytest.mark.parametrize("ablation", ABLATIONS)
def test_answers_on_poorer_data_hold_texts(ablation: str) -> None:
    if not (CASES / "image-service-pil").is_dir():
        pytest.skip("no recorded cases beside the project")
    _check_all(ABLATIONS[ablation](load("image-service-pil").window))


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m --dtype float32 --max-num-seqs 1 --enforce-eager",
        "tritonserver --model-repository /m",
        "torchserve --start --ts-config c",
        "accelerate launch train.py --num-processes 1",
        "text-generation-launcher --max-batch-size 2 --cuda-graphs 0",
        "python train.py --per-device-train-batch-size 8",
        "",
    ],
)
def test_answers_on_the_bundled_recording_hold_texts(command: str) -> None:
    window = window_of_recording(DEMO)
    _check_all(replace(window, processes=(*window.processes, Process(99, 1, command)) if command else ()))
