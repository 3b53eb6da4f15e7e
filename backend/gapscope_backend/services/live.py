"""The live relay: frames of an agent go to the pages that watch its host, and nowhere else; none is stored.

A page's watch makes the server ask that host's agent for frames for 30 s, and again while it is watched. A page that
reads slowly loses frames, the newest stay; it never makes the server hold more than ``QUEUE`` frames for it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from gapscope_agent.wire import LiveFrame, LiveRequest, StackRequest

WATCH_SECONDS = 30.0
RENEW_SECONDS = 10.0
QUEUE = 4
FRAMES_STOP_SECONDS = 3.0

Send = Callable[[LiveRequest | StackRequest], Awaitable[None]]


class StateMessage(msgspec.Struct, tag_field="type", tag="state"):
    """To the page: ``live`` (frames come), ``waiting`` (asked, none came yet), ``offline`` (no agent)."""

    state: str
    detail: str


class FrameMessage(msgspec.Struct, tag_field="type", tag="frame"):
    """To the page: newest values of one tick."""

    host: str
    time_ms: float
    values: dict[str, dict[str, float | None]]


class AskedMessage(msgspec.Struct, tag_field="type", tag="asked"):
    """To the page: whether its wish for stacks went to the agent; if not, ``no_agent`` or ``not_logged_in``."""

    accepted: bool
    reason: str


@dataclass(eq=False)
class Watcher:
    """One page. ``next`` gives what to send to it; frames beyond the queue push the oldest out."""

    _answers: deque[bytes] = field(default_factory=lambda: deque(maxlen=QUEUE))
    _frames: deque[bytes] = field(default_factory=lambda: deque(maxlen=QUEUE))
    _state: bytes | None = None
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0

    def put_frame(self, message: bytes) -> None:
        """Offer a frame."""
        self.dropped += len(self._frames) == QUEUE
        self._frames.append(message)
        self._ready.set()

    def put_state(self, message: bytes) -> None:
        """Offer a state; an older one not sent yet is replaced."""
        self._state = message
        self._ready.set()

    def put_asked(self, reason: str) -> None:
        """Answer a wish for stacks; an empty reason: the agent was asked."""
        self._answers.append(msgspec.json.encode(AskedMessage(not reason, reason)))
        self._ready.set()

    async def next(self) -> bytes:
        """Wait for the next message; answers and states go before frames."""
        while True:
            if self._answers:
                return self._answers.popleft()
            if self._state is not None:
                message, self._state = self._state, None
                return message
            if self._frames:
                return self._frames.popleft()
            self._ready.clear()
            await self._ready.wait()


@dataclass(eq=False)
class AgentLink:
    """One agent's connection; ``send`` asks it for frames."""

    send: Send
    last_frame: float | None = None


@dataclass
class _HostLive:
    agent: AgentLink | None = None
    watchers: set[Watcher] = field(default_factory=set)
    state: tuple[str, str] = ("offline", "")


class LiveHub:
    """Who sends and who watches, by host. ``monotonic`` gives seconds for the judgement of states."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._hosts: dict[str, _HostLive] = defaultdict(_HostLive)

    async def connect_agent(self, host: str, send: Send) -> AgentLink:
        """Take an agent's connection; the newest of a host counts. Asks for frames if the host is watched."""
        link = AgentLink(send)
        entry = self._hosts[host]
        entry.agent = link
        self._judge(host)
        if entry.watchers:
            await send(LiveRequest(seconds=WATCH_SECONDS))
        return link

    def disconnect_agent(self, host: str, link: AgentLink) -> None:
        """Drop an agent's connection, unless a newer one has taken its place."""
        if self._hosts[host].agent is link:
            self._hosts[host].agent = None
        self._judge(host)
        self._forget_unused(host)

    def relay(self, host: str, link: AgentLink, frame: LiveFrame) -> None:
        """Pass a frame to every watcher of the host; it is encoded once."""
        link.last_frame = self._monotonic()
        watchers = self._hosts[host].watchers
        if not watchers:
            return
        self._judge(host)
        message = msgspec.json.encode(FrameMessage(host, frame.t / 1e6, frame.values))
        for watcher in watchers:
            watcher.put_frame(message)

    async def watch(self, host: str) -> Watcher:
        """Begin to watch a host; the first message is its state."""
        watcher = Watcher()
        entry = self._hosts[host]
        entry.watchers.add(watcher)
        self._judge(host)
        watcher.put_state(_state_message(entry.state))
        await self._ask(entry)
        return watcher

    def unwatch(self, host: str, watcher: Watcher) -> None:
        """Stop watching; the agent's frames end when its request runs out."""
        self._hosts[host].watchers.discard(watcher)
        self._forget_unused(host)

    async def ask_stacks(self, host: str, seconds: float) -> bool:
        """Have a host's agent take Python stacks; they come with its batches. False where there is no agent."""
        entry = self._hosts.get(host)
        return entry is not None and await self._send(entry, StackRequest(seconds=seconds))

    async def renew(self) -> None:
        """Ask the agents of all watched hosts again, and tell pages whose agent fell silent."""
        for host, entry in list(self._hosts.items()):
            if entry.watchers:
                self._judge(host)
                await self._ask(entry)

    async def judge_all(self) -> None:
        """Tell pages whose agent fell silent."""
        for host in list(self._hosts):
            self._judge(host)

    async def _ask(self, entry: _HostLive) -> None:
        await self._send(entry, LiveRequest(seconds=WATCH_SECONDS))

    async def _send(self, entry: _HostLive, request: LiveRequest | StackRequest) -> bool:
        if entry.agent is None:
            return False
        try:
            await entry.agent.send(request)
        except (ConnectionError, RuntimeError):
            entry.agent = None  # it went away between two breaths; its own handler cleans up after it
        return entry.agent is not None

    def _judge(self, host: str) -> None:
        entry = self._hosts[host]
        state = self._state_of(entry.agent)
        if state != entry.state:
            entry.state = state
            for watcher in entry.watchers:
                watcher.put_state(_state_message(state))

    def _state_of(self, agent: AgentLink | None) -> tuple[str, str]:
        if agent is None:
            return "offline", "the host's agent is not connected"
        if agent.last_frame is None or self._monotonic() - agent.last_frame > FRAMES_STOP_SECONDS:
            return "waiting", "the agent is connected and has been asked; no frame has come yet"
        return "live", ""

    def _forget_unused(self, host: str) -> None:
        entry = self._hosts[host]
        if entry.agent is None and not entry.watchers:
            del self._hosts[host]


def _state_message(state: tuple[str, str]) -> bytes:
    return msgspec.json.encode(StateMessage(*state))
