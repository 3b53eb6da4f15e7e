"""Query strings as types: the same structs validate a request and describe it in the OpenAPI."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeVar

import msgspec
from aiohttp import web
from msgspec import Meta

from gapscope_agent.wire import HOST_PATTERN
from gapscope_backend.analysis.flame import Where
from gapscope_backend.analysis.language import LANGUAGES, Language, language_of_header, read_language
from gapscope_backend.errors import MalformedError
from gapscope_backend.services.series import MAX_BUCKETS
from gapscope_backend.services.times import ACCEPTED, parse_span

DEFAULT_FROM = "now-5m"
DEFAULT_DAY = "now-1d"
TIME = f"A moment: {ACCEPTED}."

Time = Annotated[str, Meta(min_length=1, max_length=64, description=TIME)]
Buckets = Annotated[int, Meta(ge=1, le=MAX_BUCKETS, description="Number of buckets over the span.")]
Lang = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=35,
        description="Language of the answer's texts: `en`, or `zh-Hans` (also `zh`, `zh-CN`). Without it, what "
        "Accept-Language prefers of these; English else.",
    ),
]
Query = TypeVar("Query", bound=msgspec.Struct)


class SpanQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A span of time, half-open."""

    start: Time = msgspec.field(default=DEFAULT_FROM, name="from")
    end: Time = msgspec.field(default="now", name="to")

    def span_ns(self, now_ns: int) -> tuple[int, int]:
        """The span in nanoseconds."""
        return parse_span(self.start, self.end, now_ns)

    @property
    def relative(self) -> bool:
        """True where both moments count from now."""
        return self.start.startswith("now") and self.end.startswith("now")


class LanguageQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The language of an answer."""

    lang: Lang | None = None


class SpokenSpanQuery(SpanQuery, kw_only=True):
    """A span of time, and the language of what is said of it."""

    lang: Lang | None = None


class RibbonQuery(SpokenSpanQuery, kw_only=True):
    """A span in buckets."""

    buckets: Buckets = 600


class SelectionQuery(SpanQuery, kw_only=True):
    """Some series over a span."""

    entity: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=512)]],
        Meta(
            max_length=200,
            description="Entity keys, or prefixes that end in `*` (`core:*`), all when none is given; repeatable.",
        ),
    ] = []
    metric: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=512)]],
        Meta(max_length=200, description="Metric names of the catalogue, all when none is given; repeatable."),
    ] = []


class SeriesParameters(SelectionQuery, kw_only=True):
    """Series over a span."""

    buckets: Buckets = 600


class ExportParameters(SelectionQuery, kw_only=True):
    """Series over a span as a file."""

    tier: Annotated[Literal["raw", "10s", "5min"], Meta(description="Samples, or buckets of 10 s or 5 min.")] = "raw"
    format: Annotated[Literal["csv", "arrow", "parquet"], Meta(description="CSV, an Arrow IPC stream, or Parquet.")] = (
        "csv"
    )


class CapacityQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The room of a database."""

    limit_bytes: (
        Annotated[int, Meta(ge=1, le=1 << 60, description="What the database may take, where its disk is not seen.")]
        | None
    ) = None


class GapsQuery(SpanQuery, kw_only=True):
    """Gaps over a span."""

    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many of the longest gaps to list.")] = 200


class FlameQuery(SpanQuery, kw_only=True):
    """Stacks of a span, folded."""

    where: Annotated[
        Where,
        Meta(description="all; idle (each sample by the idle share of its 100 ms); gaps; outside (of gaps)."),
    ] = "all"
    against: Annotated[Where, Meta(description="The other side of a difference.")] | None = None
    gpu: (
        Annotated[int, Meta(ge=0, le=1023, description="Index of the GPU whose gaps count, all by default.")] | None
    ) = None
    span: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=130)]],
        Meta(max_length=1000, description="FROM..TO, parts of the span that count; repeatable."),
    ] = []
    pid: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=100, description="Processes; repeatable.")] = []
    tid: Annotated[list[Annotated[int, Meta(ge=0)]], Meta(max_length=100, description="Threads; repeatable.")] = []
    by: Annotated[
        Literal["none", "process", "thread"], Meta(description="What stands at the root before the functions.")
    ] = "none"
    on_cpu: Annotated[bool, Meta(description="Leave out threads that waited.")] = False
    order: Annotated[
        Literal["merged", "time"],
        Meta(description="merged: a function once below its caller; time: in the order of the samples (ten minutes)."),
    ] = "merged"
    min_share: Annotated[
        float, Meta(ge=0, lt=1, description="Leave out nodes of this share of the whole or less (JSON only).")
    ] = 0.0005
    format: Annotated[
        Literal["json", "collapsed", "speedscope"],
        Meta(description="`Flame` as JSON, collapsed stacks as text, or a speedscope file."),
    ] = "json"


class ContrastQuery(SpokenSpanQuery, kw_only=True):
    """Gaps against the rest."""

    gpu: Annotated[int, Meta(ge=0, le=1023, description="Index of the GPU, all when none is given.")] | None = None
    span: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=130)]],
        Meta(max_length=100, description="FROM..TO to set against the rest instead of the gaps; repeatable."),
    ] = []


HostSpanText = Annotated[
    str, Meta(min_length=1, max_length=400, description=f"HOST@FROM..TO, each a moment: {ACCEPTED}.")
]


class CompareQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Two to eight spans in their order; the first is what was before."""

    a: HostSpanText
    b: HostSpanText
    c: HostSpanText | None = None
    d: HostSpanText | None = None
    e: HostSpanText | None = None
    f: HostSpanText | None = None
    g: HostSpanText | None = None
    h: HostSpanText | None = None
    lang: Lang | None = None

    def given(self) -> list[tuple[str, str]]:
        """Parameters with their texts, those that are given."""
        texts = {name: getattr(self, name) for name in self.__struct_fields__ if name != "lang"}
        return [(name, text) for name, text in texts.items() if text is not None]


class LiveQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which host to watch, or to send frames for."""

    host: Annotated[str, Meta(pattern=HOST_PATTERN, max_length=253)]


def read_query(request: web.Request, form: type[Query]) -> Query:
    """The query string as ``form``; MalformedError names the parameter that does not fit."""
    lists = {field.encode_name for field in msgspec.structs.fields(form) if field.default_factory is list}
    values: dict[str, str | list[str]] = {}
    for name in request.query:
        given = request.query.getall(name)
        if name not in lists and len(given) > 1:
            raise MalformedError(f"{name} is given {len(given)} times; once is enough", name)
        values[name] = given if name in lists else given[0]
    try:
        return msgspec.convert(values, form, strict=False)
    except msgspec.ValidationError as error:
        raise MalformedError(_readable(str(error)), _parameter(str(error))) from error


def language_of(request: web.Request) -> Language:
    """The language that a request asks for; MalformedError for a ``lang`` that is not spoken here."""
    asked = request.query.get("lang")
    if asked is None:
        return language_of_header(request.headers.get("Accept-Language", ""))
    language = read_language(asked)
    if language is None:
        raise MalformedError(f"lang {asked[:35]!r} is not spoken here; there is: {', '.join(LANGUAGES)}", "lang")
    return language


def _parameter(message: str) -> str:
    """The parameter that msgspec's message is about: its path, or the unknown or missing field."""
    found = re.search(r"at `\$\.([A-Za-z_]+)", message) or re.search(r"field `([^`]+)`", message)
    return found.group(1) if found else "query"


def _readable(message: str) -> str:
    return message.replace("Object contains unknown field", "there is no parameter").replace(
        "Object missing required field", "missing parameter"
    )
