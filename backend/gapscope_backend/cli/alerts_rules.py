"""``gapscope alerts check|list|preview|silence``: rules and what they found.

``check`` reads a file and nothing else; the others work on the server's database, whether or not it runs.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.database import add_database_options, database_of
from gapscope_backend.cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gapscope_backend.alerts.rule import Rule
    from gapscope_backend.store.database import Database

ACTIONS = ("check", "list", "preview", "silence")
STATES = ("pending", "firing", "resolved")


def add_actions(actions: Any) -> None:
    """The actions of this half, beside the others of ``gapscope alerts``."""
    check = actions.add_parser("check", help="say what is wrong with a file of rules, and where")
    check.add_argument("file", type=Path, metavar="FILE", help="TOML file with [rules.NAME] tables")
    show = actions.add_parser("list", help="alerts: those that fire first, then the newest")
    show.add_argument("--state", choices=STATES, help="only those in this state")
    show.add_argument("--rules", action="store_true", help="the rules in force instead")
    show.add_argument("--silences", action="store_true", help="the silences instead")
    show.add_argument("--limit", type=int, default=50, help="how many (default: 50)")
    tried = actions.add_parser("preview", help="how often rules would have fired over what is stored")
    tried.add_argument("rule", metavar="RULE", nargs="?", help="name of a rule; without it all that are on")
    tried.add_argument("--file", type=Path, metavar="FILE", help="rules of this file instead of those in force")
    tried.add_argument("--hours", type=float, default=24.0, help="how far back (default: 24)")
    silence = actions.add_parser("silence", help="tell nobody of some alerts for a while")
    silence.add_argument("matchers", nargs="*", metavar="NAME=PATTERN", help="for example host=node-* rule!=gpu-lost")
    silence.add_argument("--for", dest="duration", metavar="TIME", help="for how long: 30m, 2h, 1d")
    silence.add_argument("--reason", default="", help="why, for those who wonder")
    silence.add_argument("--end", metavar="ID", help="end a silence now instead")
    for action in (show, tried, silence):
        add_known_data_option(action)
        add_database_options(action)


def run(arguments: argparse.Namespace) -> int:
    """Do the chosen action; 1 for a file with faults."""
    if arguments.action == "check":
        return _check(arguments.file)
    chosen: dict[str, Callable[[argparse.Namespace, Database], Awaitable[None]]] = {
        "list": _list,
        "preview": _preview,
        "silence": _silence,
    }

    async def work() -> None:
        async with _opened(database_of(arguments)) as database:
            await chosen[arguments.action](arguments, database)

    asyncio.run(work())
    return 0


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    from gapscope_backend.services.admin import open_admin

    async with open_admin(url) as database:
        yield database


def _check(path: Path) -> int:
    from gapscope_backend.alerts.durations import write_duration
    from gapscope_backend.alerts.files import read_text

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    specs, faults = read_text(text)
    for fault in faults:
        sys.stderr.write(f"{path}:{fault}\n")
    if faults:
        return 1
    for spec in specs.values():
        rule = spec.rule
        state = "on" if rule.enabled else "off"
        print(f"{rule.id:20s} {state:3s} {spec.origin:8s} {rule.severity:9s} {rule.kind.name:17s} "
              f"for {write_duration(rule.for_seconds)}")  # fmt: skip
    print(f"{path}: {len(specs)} rules, no faults")
    return 0


async def _list(arguments: argparse.Namespace, database: Database) -> None:
    from gapscope_backend.analysis.language import read_message
    from gapscope_backend.services.times import iso
    from gapscope_backend.store.alerts import AlertFilter, list_alerts, list_rules, list_silences

    if arguments.rules:
        for row in await list_rules(database):
            print(f"{row.id:20s} {'on' if row.enabled else 'off':3s} {row.origin:8s} {row.spec.get('kind', '')}")
        return
    if arguments.silences:
        for silence in await list_silences(database, time.time_ns()):
            told = " ".join(f"{m['name']}{'!=' if m.get('negative') else '='}{m['pattern']}" for m in silence.matchers)
            print(f"{silence.id}  until {iso(silence.end_ns)[:19]}Z  {told}  {silence.reason}")
        return
    wanted = AlertFilter((arguments.state,) if arguments.state else None, limit=arguments.limit)
    found = await list_alerts(database, wanted)
    if not found:
        print("no alerts")
    for alert, host in found:
        print(f"{alert.id}  {alert.state:8s} {alert.severity:8s} {iso(alert.began_ns)[:19]}Z  {host}  {alert.rule_id}: "
              f"{read_message(alert.summary)}")  # fmt: skip


async def _preview(arguments: argparse.Namespace, database: Database) -> None:
    from gapscope_backend.services.alert_preview import preview
    from gapscope_backend.services.times import iso

    if not 0 < arguments.hours <= 24 * 90:
        raise UsageError(f"--hours {arguments.hours:g}: more than 0, at most 2160")
    end_ns = time.time_ns()
    for rule in await _rules(arguments, database):
        found = await preview(database, rule, end_ns - round(arguments.hours * 3600e9), end_ns)
        if not found.known:
            print(f"{rule.id}: the past of this kind of rule is not stored")
            continue
        times = "once" if len(found.fired) == 1 else f"{len(found.fired)} times"
        print(f"{rule.id}: would have fired {times} on {found.hosts} hosts since {iso(found.start_ns)[:19]}Z")
        for one in found.fired:
            until = "now" if one.ended_ns is None else f"{iso(one.ended_ns)[:19]}Z"
            print(f"  {iso(one.fired_ns)[:19]}Z to {until}  {one.host}  {one.sentence}")


async def _rules(arguments: argparse.Namespace, database: Database) -> list[Rule]:
    from gapscope_backend.alerts.files import read_file
    from gapscope_backend.services.alert_rules import load_rules

    if arguments.file:
        rules = [spec.rule for spec in read_file(arguments.file).values()]
    else:
        rules = await load_rules(database)
    chosen = [rule for rule in rules if (rule.id == arguments.rule if arguments.rule else rule.enabled)]
    if not chosen:
        known = ", ".join(rule.id for rule in rules) or "none: the server has not been started yet"
        raise UsageError(f"there is no rule {arguments.rule!r}; known are {known}")
    return chosen


async def _silence(arguments: argparse.Namespace, database: Database) -> None:
    from gapscope_backend.alerts.durations import FORM, read_duration
    from gapscope_backend.services.alert_admin import make_silence, stop_silence
    from gapscope_backend.services.times import iso

    now_ns = time.time_ns()
    if arguments.end:
        await stop_silence(database, arguments.end, now_ns)
        print(f"silence {arguments.end} has ended")
        return
    if not arguments.duration:
        raise UsageError(f"a silence has an end: add --for TIME; {FORM}")
    try:
        seconds = read_duration(arguments.duration)
    except ValueError as error:
        raise UsageError(f"--for: {error}") from error
    made = await make_silence(database, arguments.matchers, now_ns, seconds, arguments.reason, getpass.getuser())
    print(f"silence {made.id} until {iso(made.end_ns)[:19]}Z")
