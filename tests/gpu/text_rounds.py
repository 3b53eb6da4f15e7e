"""A small text-generation service through its rounds: ``python -m tests.gpu.text_rounds ROUND --seconds N``.

1: tokenisation and rules in Python on the serving thread, one sequence at a time, fp32. 2: they run in a process of
their own. 3: sixteen sequences at once. 4: the same in bfloat16 with sixty-four. The model is a GPT-2 of twelve layers
with random weights; each request gets 24 new tokens.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from multiprocessing.queues import SimpleQueue

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.gpu.load import Load, Request, serve

NEW_TOKENS, PROMPT_TOKENS, VOCABULARY = 24, 64, 8000
WORDS = [
    f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ru") for b in ("ten", "sar", "vol", "din") for c in ("a", "es", "um")
]
RULES = [re.compile(pattern) for pattern in (r"\bka\w+um\b", r"(\w)\1", r"\b\w{9,}\b", r"[aeiou]{2}", r"\d+")]


def rank(piece: str, size: int) -> int:
    """A number below ``size`` for a piece, the same in every process."""
    return zlib.crc32(piece.encode()) % size


def encode(text: str) -> list[int]:
    """Greedy merging of letter pairs, by rank, in pure Python: what a simple tokeniser does; then the rules."""
    tokens: list[int] = []
    for word in text.split():
        pieces = list(word)
        while len(pieces) > 1:
            ranks = [rank(left + right, 997) for left, right in pairwise(pieces)]
            best = ranks.index(min(ranks))
            pieces[best : best + 2] = [pieces[best] + pieces[best + 1]]
            if min(ranks) > 700:
                break
        tokens += [rank(piece, VOCABULARY) for piece in pieces]
    flagged = sum(len(rule.findall(text)) for rule in RULES)
    return (tokens + [flagged % VOCABULARY] * PROMPT_TOKENS)[:PROMPT_TOKENS]


def encode_for_ever(texts: SimpleQueue[Request], encoded: SimpleQueue[Request]) -> None:
    """The process of its own."""
    while True:
        number, text = texts.get()
        encoded.put((number, encode(text)))


class OwnProcess:
    """Encodes ahead in two child processes, in the order in which requests come out."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.texts: SimpleQueue[Request] = context.SimpleQueue()
        self.encoded: SimpleQueue[Request] = context.SimpleQueue()
        for _ in range(2):
            context.Process(target=encode_for_ever, args=(self.texts, self.encoded), daemon=True).start()

    def __call__(self, requests: Sequence[Request]) -> list[list[int]]:
        for request in requests:
            self.texts.put(request)
        return [self.encoded.get()[1] for _ in requests]


def on_the_thread(requests: Sequence[Request]) -> list[list[int]]:
    return [encode(text) for _, text in requests]


def generate(model: GPT2LMHeadModel, prompts: list[list[int]]) -> torch.Tensor:
    """Greedy decoding with a key-value cache, one token a step, all sequences together."""
    ids = torch.tensor(prompts, device="cuda")
    out = model(ids, use_cache=True)
    tokens = [out.logits[:, -1:].argmax(-1)]
    for _ in range(NEW_TOKENS - 1):
        out = model(tokens[-1], past_key_values=out.past_key_values, use_cache=True)
        tokens.append(out.logits[:, -1:].argmax(-1))
    return torch.cat(tokens, 1).cpu()


def build_step(round_: int, load: Load) -> Callable[[], int]:
    config = GPT2Config(vocab_size=VOCABULARY, n_layer=12, n_embd=1024, n_head=16)
    model = GPT2LMHeadModel(config).cuda().eval()
    if round_ == 4:
        model = model.bfloat16()
    encode_all = on_the_thread if round_ == 1 else OwnProcess()
    most = {1: 1, 2: 1, 3: 16, 4: 64}[round_]

    def step() -> int:
        requests = load.take(most, 0.002 if most > 1 else 0.0)
        generate(model, encode_all(requests))
        load.answer(requests)
        return len(requests)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("round", type=int, choices=(1, 2, 3, 4))
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    random.seed(3)
    load = Load([" ".join(random.choices(WORDS, k=4000)) for _ in range(16)], flight=128)
    with torch.inference_mode():
        step = build_step(arguments.round, load)
        serve(load, step, 2.0)
        print(json.dumps({"ready": arguments.round}), flush=True)
        print(json.dumps({"round": arguments.round, **serve(load, step, arguments.seconds)}), flush=True)


if __name__ == "__main__":
    main()
