"""Rules as TOML files: reading one, laying it over the default rules, and saying where it is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from gapscope_backend.alerts.rule import Rule, RuleError, read_rule
from gapscope_backend.errors import ConfigurationError

DEFAULT = "default"
FILE = "file"
API = "api"


@dataclass(frozen=True)
class Spec:
    """What is said of a rule, whole, and by whom (``origin``)."""

    id: str
    spec: Mapping[str, Any]
    origin: str

    @property
    def rule(self) -> Rule:
        """As a checked rule."""
        return read_rule(self.id, self.spec)


@cache
def default_specs() -> dict[str, Spec]:
    """The rules of the package, by id."""
    text = files("gapscope_backend.alerts").joinpath("default_rules.toml").read_text(encoding="utf-8")
    return {name: Spec(name, told, DEFAULT) for name, told in msgspec.toml.decode(text)["rules"].items()}


def read_file(path: Path) -> dict[str, Spec]:
    """The default rules with a file laid over them. Raises ConfigurationError with every fault of the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    specs, faults = read_text(text)
    if faults:
        raise ConfigurationError("\n".join(f"{path}:{fault}" for fault in faults))
    return specs


def read_text(text: str) -> tuple[dict[str, Spec], list[str]]:
    """Rules of a file's text over the default ones, and what is wrong with it: ``LINE: PATH: what; what to do``."""
    try:
        table = msgspec.toml.decode(text)
    except msgspec.DecodeError as error:
        return {}, [_syntax(str(error), text)]
    faults = [
        f"{line_of(text, key)}: {key}: there is no such setting; known are defaults and [rules.NAME]"
        for key in table
        if key not in ("defaults", "rules")
    ]
    keep = table.get("defaults", True)
    if not isinstance(keep, bool):
        faults.append(f"{line_of(text, 'defaults')}: defaults: {keep!r} is neither true nor false")
    rules = table.get("rules", {})
    if not isinstance(rules, dict):
        return {}, [*faults, f"{line_of(text, 'rules')}: rules: write each rule as a table [rules.NAME]"]
    base = default_specs()
    specs = dict(base) if keep else {}
    for name, told in rules.items():
        where = f"rules.{name}"
        if not isinstance(told, dict):
            faults.append(f"{line_of(text, where)}: {where}: write the rule as a table [rules.{name}]")
            continue
        whole = {**(base[name].spec if name in base else {}), **told} if _extends(base, name, told) else told
        try:
            read_rule(name, whole, where)
        except RuleError as error:
            faults.append(f"{line_of(text, error.path)}: {error}")
            continue
        specs[name] = Spec(name, whole, FILE)
    return specs, faults + _missing_rules(specs, text)


def _extends(base: Mapping[str, Spec], name: str, told: Mapping[str, Any]) -> bool:
    """A rule of a default's name changes that one, unless it is of another kind."""
    return name in base and told.get("kind", base[name].spec["kind"]) == base[name].spec["kind"]


def _missing_rules(specs: Mapping[str, Spec], text: str) -> list[str]:
    return [
        f"{line_of(text, f'rules.{spec.id}.unless')}: rules.{spec.id}.unless: there is no rule {other!r}"
        for spec in specs.values()
        if spec.origin == FILE
        for other in spec.rule.unless
        if other not in specs
    ]


def line_of(text: str, path: str) -> int:
    """The line that a path is written on; that of its table where the key is not there, 1 where neither is."""
    parts = path.split("[")[0].split(".")
    table, found = [".".join(parts[:-1]), ".".join(parts[:2]), ".".join(parts)], 1
    lines = text.splitlines()
    inside = len(parts) < 2
    for number, line in enumerate(lines, start=1):
        header = re.fullmatch(r"\s*\[\s*([^\]]+?)\s*\]\s*(#.*)?", line)
        if header:
            inside = header[1].replace('"', "").replace(" ", "") in table
            found = number if inside else found
        elif inside and parts[-1] and re.match(rf'\s*"?{re.escape(parts[-1])}"?\s*=', line):
            return number
    return found


def _syntax(told: str, text: str) -> str:
    where = re.search(r"\(at line (\d+), column (\d+)\)", told)
    if where is None:
        return f"{len(text.splitlines())}: {told}"
    return f"{where[1]}:{where[2]}: {told[: where.start()].strip()}; this is no TOML"
