"""What hot batches hold, sorted into the chunks where it belongs, and those chunks' new content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
import numpy as np

from gapscope_agent.wire import Entity, Group, StackSample, WireFrame, decode_matrix
from gapscope_backend.store.chunks.block import Block, Row, block_of, join, split
from gapscope_backend.store.chunks.rollup import Rolled, coarser, combine, roll
from gapscope_backend.store.chunks.sets import group_of
from gapscope_backend.store.chunks.stacks import Frames, StackTable, table_of
from gapscope_backend.store.tiers import SLOT_NS, TIERS


class HotBatch(msgspec.Struct):
    """The parts of a stored batch that chunks keep; msgspec skips the rest unread."""

    groups: list[Group] = []
    entities: list[Entity] = []
    frames: list[WireFrame] = []
    stacks: list[list[int]] = []
    samples: list[StackSample] = []


Place = tuple[int, str]
"""Start of a slot, and group."""
StackPlace = tuple[int, int]
"""Start of a slot, and pid."""

_DECODER = msgspec.msgpack.Decoder(HotBatch)


@dataclass
class Gathered:
    """Blocks and told facts by slot and group, stack samples by slot and process."""

    blocks: dict[Place, list[Block]] = field(default_factory=lambda: defaultdict(list))
    told: dict[Place, list[Entity]] = field(default_factory=lambda: defaultdict(list))
    stacks: dict[StackPlace, list[StackTable[Frames]]] = field(default_factory=lambda: defaultdict(list))

    def slots(self, before_ns: int | None = None) -> list[int]:
        """Slots that hold something, oldest first; those that start before a time."""
        found = {slot for slot, _ in (*self.blocks, *self.stacks)}
        return sorted(slot for slot in found if before_ns is None or slot < before_ns)

    def add_chunk(self, place: Place, blocks: Sequence[Block], told: Sequence[Entity]) -> None:
        """Put what a chunk holds before what hot batches bring."""
        self.blocks[place] = [*blocks, *self.blocks[place]]
        self.told[place] = [*told, *self.told[place]]

    def add_stacks(self, place: StackPlace, table: StackTable[Frames]) -> None:
        """Put what a chunk holds before what hot batches bring."""
        self.stacks[place] = [table, *self.stacks[place]]

    def take_blocks(self, slot_ns: int) -> tuple[list[Block], list[Entity]]:
        """All series of a slot, each in one place, and what was told; they are gone from here."""
        places = sorted(place for place in self.blocks if place[0] == slot_ns)
        told = [entity for place in places for entity in self.told.pop(place, ())]
        return join([block for place in places for block in self.blocks.pop(place)]), told

    def take_stacks(self, slot_ns: int) -> list[StackTable[Frames]]:
        """The stack samples of a slot; they are gone from here."""
        places = sorted(place for place in self.stacks if place[0] == slot_ns)
        return [table for place in places for table in self.stacks.pop(place)]


def gather(
    payloads: Iterable[bytes], into: Gathered, wants: Callable[[Group], bool] | None = None, stacks: bool = True
) -> Gathered:
    """Sort the content of batches, given in the order in which they follow one another, into what is there.

    Only the groups that are wanted, and stack samples or not.
    """
    for payload in payloads:
        batch = _DECODER.decode(payload)
        changing = {entity.key: entity for entity in batch.entities if changes(entity)}
        for group in batch.groups:
            if wants is None or wants(group):
                for slot_ns, block in split(block_of(decode_matrix(group)), SLOT_NS):
                    _sort_in(into, slot_ns, block, changing)
        if stacks and batch.samples:
            _sort_stacks(into, table_of(batch.frames, batch.stacks, batch.samples))
    return into


def changes(entity: Entity) -> bool:
    """Whether facts of an entity are kept with the samples: who owns a GPU changes while its name does not."""
    return "owners" in entity.labels


def rollups(blocks: Sequence[Block]) -> dict[int, list[Rolled]]:
    """The buckets of each tier, by its seconds."""
    fine = combine([roll(block, TIERS[0].width_ns) for block in blocks])
    return {tier.seconds: fine if tier is TIERS[0] else _wider(fine, tier.width_ns) for tier in TIERS}


def joined(blocks: Sequence[Block], told: Sequence[Entity]) -> tuple[list[Block], list[Entity]]:
    """Content of one chunk, each series in one place and each fact once."""
    facts = {(entity.key, tuple(sorted(entity.labels.items()))): entity for entity in told}
    return join(blocks), list(facts.values())


def _wider(parts: Sequence[Rolled], width_ns: int) -> list[Rolled]:
    return combine([coarser(part, width_ns) for part in parts])


def _sort_in(gathered: Gathered, slot_ns: int, block: Block, changing: Mapping[str, Entity]) -> None:
    for group, numbers in _rows_by_group(block.rows).items():
        gathered.blocks[slot_ns, group].append(block.select(numbers))
        told = gathered.told[slot_ns, group]
        if group in changing and (not told or told[-1] != changing[group]):
            told.append(changing[group])


@lru_cache(maxsize=256)
def _rows_by_group(rows: tuple[Row, ...]) -> Mapping[str, Sequence[int]]:
    """The numbers of the rows that go to each group; batch after batch brings the same rows."""
    found: dict[str, list[int]] = {}
    for number, (entity, _) in enumerate(rows):
        found.setdefault(group_of(entity), []).append(number)
    return found


def _sort_stacks(gathered: Gathered, table: StackTable[Frames]) -> None:
    slots = table.rows[:, 0] // SLOT_NS * SLOT_NS
    for slot_ns, pid in np.unique(np.stack([slots, table.rows[:, 1]]), axis=1).T.tolist():
        chosen = table.rows[(slots == slot_ns) & (table.rows[:, 1] == pid)]
        names = {key: name for key, name in table.names.items() if key[0] == pid}
        gathered.stacks[slot_ns, pid].append(StackTable(chosen, table.stacks, names))
