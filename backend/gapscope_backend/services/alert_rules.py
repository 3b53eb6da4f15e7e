"""The rules in force: defaults, those of a file, and what people changed on the page."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from gapscope_backend.alerts.files import API, Spec, default_specs
from gapscope_backend.alerts.rule import Rule, RuleError, read_rule
from gapscope_backend.errors import ForbiddenError, NotFoundError, UnprocessableError
from gapscope_backend.store.alert_models import AlertRule
from gapscope_backend.store.alerts import list_rules, put_rules
from gapscope_backend.store.database import Database

log = logging.getLogger(__name__)


async def sync_rules(database: Database, specs: Mapping[str, Spec] | None, now_ns: int) -> None:
    """Bring the stored rules to those of the package and the file. What people changed stays as they left it."""
    wanted = default_specs() if specs is None else specs
    known = {row.id: row for row in await list_rules(database)}
    changed = [
        _values(spec.id, spec.spec, spec.origin, "", now_ns)
        for spec in wanted.values()
        if spec.id not in known or _differs(known[spec.id], spec)
    ]
    gone = [row.id for row in known.values() if row.id not in wanted and row.origin != API]
    if changed or gone:
        await put_rules(database, changed, gone)


async def load_rules(database: Database) -> list[Rule]:
    """The stored rules; one that this version cannot read is left out and told in the log."""
    found = []
    for row in await list_rules(database):
        try:
            found.append(read_rule(row.id, row.spec))
        except RuleError as error:  # noqa: PERF203 - each rule by itself
            log.error("rule %s is not in force: %s", row.id, error)
    return found


async def change_rule(database: Database, rule_id: str, told: Mapping[str, Any], user: str, now_ns: int) -> AlertRule:
    """Add a rule, or change one; it is a person's from then on. Raises UnprocessableError for one that cannot be."""
    rule = checked_rule(rule_id, told)
    known = {row.id for row in await list_rules(database)} | {rule_id}
    missing = [other for other in rule.unless if other not in known]
    if missing:
        raise UnprocessableError(f"{rule_id}.unless: there is no rule {missing[0]!r}", "unless")
    await put_rules(database, [_values(rule_id, told, API, user, now_ns)])
    return await rule_of(database, rule_id)


async def remove_rule(database: Database, rule_id: str, now_ns: int) -> None:
    """Forget what people made of a rule: one of their own goes, a default one is as it was.

    Raises ForbiddenError for one that is of the package or the file.
    """
    row = await rule_of(database, rule_id)
    if row.origin != API:
        raise ForbiddenError(f"rule {rule_id} is of the {_PLACES[row.origin]}; switch it off with enabled = false")
    await put_rules(database, [], [rule_id])
    default = default_specs().get(rule_id)
    if default is not None:
        await put_rules(database, [_values(rule_id, default.spec, default.origin, "", now_ns)])


async def rule_of(database: Database, rule_id: str) -> AlertRule:
    """A stored rule. Raises NotFoundError."""
    for row in await list_rules(database):
        if row.id == rule_id:
            return row
    raise NotFoundError(f"no rule {rule_id[:64]!r}; GET /api/v1/alert-rules lists them", "rule")


def checked_rule(rule_id: str, told: Mapping[str, Any]) -> Rule:
    """A rule out of a request. Raises UnprocessableError that names what is wrong."""
    try:
        return read_rule(rule_id, told)
    except RuleError as error:
        raise UnprocessableError(str(error), error.path) from error


_PLACES = {"default": "package", "file": "server's file of rules"}


def _differs(row: AlertRule, spec: Spec) -> bool:
    return row.origin != API and (row.spec != dict(spec.spec) or row.origin != spec.origin)


def _values(rule_id: str, spec: Mapping[str, Any], origin: str, user: str, now_ns: int) -> dict[str, Any]:
    return {
        "id": rule_id,
        "spec": dict(spec),
        "origin": origin,
        "enabled": bool(spec.get("enabled", True)),
        "updated_ns": now_ns,
        "updated_by": user,
    }
