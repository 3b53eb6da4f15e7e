"""What people do to alerts: look after one, and silence some for a while."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from gapscope_backend.alerts.matching import Matcher, read_matcher
from gapscope_backend.errors import NotFoundError, UnprocessableError
from gapscope_backend.store.alert_models import Alert, Silence
from gapscope_backend.store.alerts import acknowledge_alert, add_silence, alert_of, end_silence
from gapscope_backend.store.database import Database

MAX_MATCHERS = 20
LONGEST_SILENCE_SECONDS = 366 * 86400.0


async def find_alert(database: Database, alert_id: str) -> tuple[Alert, str]:
    """An alert and its host's name. Raises NotFoundError."""
    found = await alert_of(database, alert_id)
    if found is None:
        raise NotFoundError(f"no alert {alert_id[:40]!r}; GET /api/v1/alerts lists them", "alert")
    return found


async def acknowledge(database: Database, alert_id: str, user: str, now_ns: int) -> tuple[Alert, str]:
    """Somebody looks after it: nobody is reminded of it any more. The first one's name stays."""
    alert, _ = await find_alert(database, alert_id)
    await acknowledge_alert(database, alert, user, now_ns)
    return await find_alert(database, alert_id)


def read_matchers(told: Sequence[str]) -> list[Matcher]:
    """Raises UnprocessableError that says what is wrong."""
    if not 1 <= len(told) <= MAX_MATCHERS:
        raise UnprocessableError(f"a silence needs 1 to {MAX_MATCHERS} matchers, for example host=node-1", "matchers")
    try:
        return [read_matcher(one) for one in told]
    except ValueError as error:
        raise UnprocessableError(str(error), "matchers") from error


async def make_silence(
    database: Database, told: Sequence[str], start_ns: int, seconds: float, reason: str, user: str
) -> Silence:
    """Silence what fits all matchers, from a moment on for some seconds."""
    matchers = read_matchers(told)
    if not 0 < seconds <= LONGEST_SILENCE_SECONDS:
        raise UnprocessableError("a silence has an end: more than 0 s and at most a year from its start", "end")
    silence = Silence(
        id=secrets.token_hex(8),
        matchers=[one.to_plain() for one in matchers],
        start_ns=start_ns,
        end_ns=start_ns + round(seconds * 1e9),
        reason=reason,
        made_ns=start_ns,
        made_by=user,
        ended_ns=None,
    )
    await add_silence(database, silence)
    return silence


async def stop_silence(database: Database, silence_id: str, now_ns: int) -> None:
    """End a silence now. Raises NotFoundError."""
    if not await end_silence(database, silence_id, now_ns):
        raise NotFoundError(f"no silence {silence_id[:40]!r}; GET /api/v1/silences lists them", "silence")
