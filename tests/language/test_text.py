"""Texts: English as strings, other languages from the catalogue, messages that survive being stored."""

from __future__ import annotations

import copy
import json
import pickle
import string

import msgspec
import pytest

from gapscope_backend.analysis.language import Text, as_message, from_message, read_message, rendered, spoken
from gapscope_backend.analysis.language.text import CATALOGUES

TOLD = Text(
    "{gpu!u} waited {share:.0%} of {time} for the DataLoader{where}.",
    gpu=Text("the {name}", name="NVIDIA H200"),
    share=0.914,
    time=Text("the last {time}", time=Text("{amount:.0f} s", amount=30.4)),
    where=Text(", most often in {function} ({file}:{line})", function="next", file="a.py", line=3),
)
ENGLISH = "The NVIDIA H200 waited 91% of the last 30 s for the DataLoader, most often in next (a.py:3)."
CHINESE = "最近 30 秒内，NVIDIA H200 有 91% 的时间在等待 DataLoader，其中最多的是 next（a.py:3）。"


def test_a_text_is_its_english_sentence_and_speaks_chinese() -> None:
    assert TOLD == ENGLISH
    assert TOLD.render("en") == ENGLISH
    assert TOLD.render("zh-Hans") == CHINESE


def test_what_is_stored_is_read_in_either_language() -> None:
    stored = json.loads(json.dumps(TOLD.message()))
    assert read_message(stored).render("zh-Hans") == CHINESE
    assert read_message(stored) == ENGLISH
    assert rendered({"verdict": [{"text": stored, "file": "idle"}]}, "zh-Hans") == {
        "verdict": [{"text": CHINESE, "file": "idle"}]
    }


def test_a_name_that_is_also_a_text_stays_a_name() -> None:
    text = Text("thread {name} is on a CPU", name="idle")
    assert read_message(text.message()).render("zh-Hans") == "线程 idle 在 CPU 上运行"
    assert Text("{label}: {note}", label="idle", note=Text("idle")).render("zh-Hans") == "idle：空闲"


def test_sequences_are_joined_in_the_manner_of_the_language() -> None:
    text = Text(" Nobody holds {free:, }.", free=[Text("GPU {index}", index=0), Text("GPU {index}", index=1)])
    assert text == " Nobody holds GPU 0, GPU 1."
    assert read_message(text.message()).render("zh-Hans") == "GPU 0、GPU 1 没有进程占用。"


def test_a_sentence_of_an_older_version_is_shown_as_it_is() -> None:
    assert read_message("It waited {long}.").render("zh-Hans") == "It waited {long}."
    assert read_message("idle").render("zh-Hans") == "空闲"
    for other in (None, 3, ["idle"], {"text": "idle"}, {"text": 1, "values": {}}):
        with pytest.raises(ValueError, match="no text and no message"):
            read_message(other)


def test_a_field_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="name"):
        Text("the {name}, {other}", other=1)


def test_a_stored_template_reaches_no_attributes() -> None:
    with pytest.raises(KeyError):
        read_message({"text": "{name.__class__}", "values": {"name": "x"}})


def test_copies_keep_the_message() -> None:
    for other in (copy.deepcopy(TOLD), copy.copy(TOLD), pickle.loads(pickle.dumps(TOLD))):
        assert other.render("zh-Hans") == CHINESE


class Row(msgspec.Struct):
    said: Text


def test_encoded_data_holds_messages_or_sentences() -> None:
    row = Row(TOLD)
    assert msgspec.json.decode(msgspec.json.encode(row, enc_hook=spoken("zh-Hans"))) == {"said": CHINESE}
    back = msgspec.json.decode(msgspec.json.encode(row, enc_hook=as_message), type=Row, dec_hook=from_message)
    assert back.said.render("zh-Hans") == CHINESE
    for hook in (as_message, spoken("en")):
        with pytest.raises(NotImplementedError, match="object cannot be encoded"):
            hook(object())
    with pytest.raises(NotImplementedError, match="a set cannot be decoded"):
        from_message(set, [])


def test_figures_are_written_as_in_english() -> None:
    """A translation shows no other digits: each field keeps its format, but for what joins the parts of a sequence."""
    catalogue = CATALOGUES["zh-Hans"].items()
    assert {english: other for english, other in catalogue if _formats(english) != _formats(other)} == {}


def _formats(template: str) -> dict[str, str]:
    if "{ }" in template:
        return {}
    found = {name: spec for _, name, spec, _ in string.Formatter().parse(template) if name and spec}
    return {name: spec for name, spec in found.items() if spec.strip(" ,;、；，")}
