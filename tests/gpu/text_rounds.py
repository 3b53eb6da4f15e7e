"""A small text-generation service through its rounds: ``python -m tests.gpu.text_rounds ROUND --seconds N``.

Each request is a document of some thousand words, cut to the first 64 tokens after the rules have seen all of it; it
gets 24 new tokens from a GPT-2 of twelve layers with random weights. 1: tokenisation and rules in Python on the serving
thread, one sequence at a time, fp32. 2: they run in processes of their own, which remember the words that they know.
3: sixteen sequences at once. 4: the same in bfloat16 with sixty-four.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import re
import zlib
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from multiprocessing.queues import SimpleQueue

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.gpu.load import Load, Request, serve

NEW_TOKENS, PROMPT_TOKENS, VOCABULARY = 24, 64, 8000
WORDS_PER_REQUEST = 6000
WORDS = [
    f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ru") for b in ("ten", "sar", "vol", "din") for c in ("a", "es", "um")
]
RULES = [re.compile(pattern) for pattern in (r"\bka\w+um\b", r"(\w)\1", r"\b\w{9,}\b", r"[aeiou]{2}", r"\d+")]


def rank(piece: str, size: int) -> int:
    """A number below ``size`` for a piece, the same in every process."""
    return zlib.crc32(piece.encode()) % size


def pieces_of(word: str) -> list[int]:
    """Greedy merging of letter pairs, by rank, in pure Python: what a simple tokeniser does."""
    pieces = list(word)
    while len(pieces) > 1:
        ranks = [rank(left + right, 997) for left, right in pairwise(pieces)]
        best = ranks.index(min(ranks))
        pieces[best : best + 2] = [pieces[best] + pieces[best + 1]]
        if min(ranks) > 700:
            break
    return [rank(piece, VOCABULARY) for piece in pieces]


remembered = cache(pieces_of)


def encode(text: str, split: Callable[[str], list[int]] = pieces_of) -> list[int]:
    """Tokens of the text, then what the rules found in it."""
    tokens = [token for word in text.split() for token in split(word)]
    flagged = sum(len(rule.findall(text)) for rule in RULES)
    return (tokens + [flagged % VOCABULARY] * PROMPT_TOKENS)[:PROMPT_TOKENS]


def encode_for_ever(texts: SimpleQueue[Request], encoded: SimpleQueue[Request]) -> None:
    """A process of its own."""
    while True:
        number, text = texts.get()
        encoded.put((number, encode(text, remembered)))


def encode_ahead(load: Load, processes: int) -> None:
    """Put child processes between the client and the server: what the server takes is encoded already."""
    context = multiprocessing.get_context("fork")
    encoded: SimpleQueue[Request] = context.SimpleQueue()
    for _ in range(processes):
        context.Process(target=encode_for_ever, args=(load.requests, encoded), daemon=True).start()
    load.requests = encoded


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
    if round_ > 1:
        encode_ahead(load, processes=12)
    config = GPT2Config(vocab_size=VOCABULARY, n_layer=12, n_embd=1024, n_head=16, eos_token_id=None)
    model = GPT2LMHeadModel(config).cuda().eval()
    if round_ == 4:
        model = model.bfloat16()
    most = {1: 1, 2: 1, 3: 16, 4: 64}[round_]

    def step() -> int:
        requests = load.take(most, 0.002 if most > 1 else 0.0)
        generate(model, [encode(text) if round_ == 1 else text for _, text in requests])
        load.answer(requests)
        return len(requests)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("round", type=int, choices=(1, 2, 3, 4))
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    random.seed(3)
    load = Load([" ".join(random.choices(WORDS, k=WORDS_PER_REQUEST)) for _ in range(16)], flight=128)
    with torch.inference_mode():
        step = build_step(arguments.round, load)
        serve(load, step, 2.0)
        print(json.dumps({"ready": arguments.round}), flush=True)
        print(json.dumps({"round": arguments.round, **serve(load, step, arguments.seconds)}), flush=True)


if __name__ == "__main__":
    main()
