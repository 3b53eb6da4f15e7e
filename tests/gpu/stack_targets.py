"""Programs that are watched while the price of watching is measured: ``python stack_targets.py KIND COUNTER``.

Each counts its finished steps into COUNTER, a file of 8 bytes that the measuring side maps. With torch and a GPU the
steps use it; without, numpy stands in. ``alternate`` also writes its phases to COUNTER.phases, one JSON line each.
Only the standard library is needed where neither numpy nor PIL is there.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import mmap
import os
import queue
import struct
import threading
import time
from pathlib import Path
from typing import Any, Callable  # noqa: UP035 - runs under Python 3.8 too


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch, np, Image = _optional("torch"), _optional("numpy"), _optional("PIL.Image")
CUDA = torch is not None and bool(torch.cuda.is_available())

Step = Callable[[], Any]


class Counter:
    """Steps done, where another process can read them."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)
        self._steps = 0

    def add(self) -> None:
        self._steps += 1
        struct.pack_into("<Q", self._map, 0, self._steps)


def _encoded_image() -> bytes:
    if Image is None:
        return os.urandom(500 * 375 * 3)
    rows = bytes((x * y // 7 + x) % 256 for y in range(375) for x in range(500 * 3))
    held = io.BytesIO()
    Image.frombytes("RGB", (500, 375), rows).save(held, "JPEG")
    return held.getvalue()


def _decode(encoded: bytes) -> bytes:
    if Image is None:
        return bytes(value ^ 255 for value in encoded[:20_000])
    shown: bytes = Image.open(io.BytesIO(encoded)).convert("RGB").resize((224, 224)).tobytes()
    return shown


def image_step() -> Step:
    """One request of an image service: decode, resize, normalise, classify."""
    encoded = _encoded_image()
    if CUDA:
        weights = torch.randn(224 * 224 * 3, 1000, device="cuda")
    elif np is not None:
        weights = np.ones((1024, 100), dtype=np.float32)

    def classify() -> None:
        pixels = _decode(encoded)
        if CUDA:
            batch = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).to("cuda").float()
            (batch.reshape(1, -1) / 255 @ weights).argmax().item()
        elif np is not None:
            batch = np.frombuffer(pixels, dtype=np.uint8).astype(np.float32) / 255
            (batch[:1024] @ weights).argmax()

    return classify


def tiny_step() -> Step:
    """Many small operations: on a GPU tiny kernels, launched one by one."""
    if CUDA:
        vector = torch.zeros(64, device="cuda")

        def launch() -> None:
            for _ in range(100):
                vector.add_(1)
            torch.cuda.synchronize()

        return launch
    if np is None:
        return lambda: sum(range(2000))
    held = np.zeros(64)

    def add() -> None:
        for _ in range(100):
            np.add(held, 1, out=held)

    return add


def service(counter: Counter) -> None:
    """A loader thread feeds requests by a queue to the thread that serves them."""
    waiting: queue.Queue[int] = queue.Queue(maxsize=4)

    def load() -> None:
        number = 0
        while True:
            waiting.put(number)
            number += 1

    threading.Thread(target=load, name="loader", daemon=True).start()
    step = image_step()
    while True:
        waiting.get()
        step()
        counter.add()


def loop(counter: Counter, step: Step) -> None:
    while True:
        step()
        counter.add()


def threads(counter: Counter, count: int) -> None:
    """``count`` threads in all, of which one works and the others wait."""
    never = threading.Event()
    for number in range(count - 1):
        threading.Thread(target=never.wait, name=f"waiting-{number}", daemon=True).start()
    loop(counter, tiny_step())


def family(counter: Counter, count: int) -> None:
    """Forks ``count`` workers, each with a loop of its own; this process works too."""
    for _ in range(count):
        if os.fork() == 0:
            while True:
                sum(range(20_000))
                time.sleep(0.01)
    loop(counter, tiny_step())


def work_on_cpu(until: float) -> None:
    while time.time() < until:
        sum(range(2000))


def wait_for_device(until: float) -> None:
    """The GPU works and this thread waits for it; without a GPU it only waits."""
    if not CUDA:
        time.sleep(max(0.0, until - time.time()))
        return
    matrix = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    done = torch.cuda.Event(blocking=True)
    while time.time() < until:
        for _ in range(20):
            matrix @ matrix
        done.record()
        done.synchronize()


def alternate(counter: Counter, phases: Path, seconds: float) -> None:
    """CPU work and waiting, turn by turn, ``seconds`` each; phase ends are on the grid of the wall clock."""
    with phases.open("w", buffering=1) as log:
        while True:
            for name, run in (("cpu", work_on_cpu), ("gpu", wait_for_device)):
                begin = time.time_ns()
                run((begin / 1e9 // seconds + 1) * seconds)
                log.write(json.dumps({"phase": name, "begin_ns": begin, "end_ns": time.time_ns()}) + "\n")
                counter.add()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["image", "tiny", "threads", "family", "alternate"])
    parser.add_argument("counter", type=Path)
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.0)
    chosen = parser.parse_args()
    counter = Counter(chosen.counter)
    print(json.dumps({"pid": os.getpid(), "cuda": CUDA, "pil": Image is not None}), flush=True)
    if chosen.kind == "image":
        service(counter)
    elif chosen.kind == "tiny":
        loop(counter, tiny_step())
    elif chosen.kind == "threads":
        threads(counter, chosen.count)
    elif chosen.kind == "family":
        family(counter, chosen.count)
    else:
        alternate(counter, Path(f"{chosen.counter}.phases"), chosen.seconds)


if __name__ == "__main__":
    main()
