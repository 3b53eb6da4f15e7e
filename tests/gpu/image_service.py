"""An image service with a fault: it decodes and resizes with PIL on the thread that feeds the GPU.

Three phases of 20 s: thumbnails arrive (the GPU is fed), then 12-megapixel photos (the serving thread decodes while
the GPU waits), then thumbnails again. Batches of 16, ConvNeXt with random weights, fp32. Needs torch, torchvision
and Pillow. Prints one JSON line a second: phase and images served.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import time
from collections.abc import Callable, Iterator

import torch
import torchvision
from PIL import Image
from torchvision import transforms

BATCH = 16
PREPARE = transforms.Compose(
    [
        transforms.Resize(256),
        transforms.CenterCrop(224),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ]
)


def photo(width: int, height: int, seed: int) -> bytes:
    """A JPEG with enough detail that decoding it costs what a photo's does."""
    random.seed(seed)
    noise = Image.frombytes("RGB", (width // 8, height // 8), random.randbytes(width // 8 * (height // 8) * 3))
    buffer = io.BytesIO()
    noise.resize((width, height), Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def receive(bodies: list[bytes]) -> list[bytes]:
    """The next batch of request bodies."""
    return [bodies[index % len(bodies)] for index in range(BATCH)]


def preprocess(body: bytes) -> torch.Tensor:
    """Decode and resize one image with PIL, on the calling thread."""
    tensor: torch.Tensor = PREPARE(Image.open(io.BytesIO(body)).convert("RGB"))
    return tensor


def serve(model: Callable[[torch.Tensor], torch.Tensor], bodies: list[bytes], seconds: float) -> Iterator[int]:
    """Serve until ``seconds`` are over; yields the images of each batch."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        batch = torch.stack([preprocess(body) for body in receive(bodies)])
        with torch.inference_mode():
            model(batch.cuda()).argmax(1).cpu()
        yield BATCH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phase-seconds", type=float, default=20.0)
    seconds = parser.parse_args().phase_seconds
    thumbnails = [photo(256, 256, seed) for seed in range(4)]
    photos = [photo(4000, 3000, seed) for seed in range(4)]
    model = torchvision.models.convnext_large(weights=None).cuda().eval()
    for _ in serve(model, thumbnails, 3.0):
        pass
    print(json.dumps({"ready": True}), flush=True)
    for phase, bodies in (("thumbnails", thumbnails), ("photos", photos), ("thumbnails again", thumbnails)):
        images = sum(serve(model, bodies, seconds))
        print(json.dumps({"phase": phase, "images_per_s": round(images / seconds, 1)}), flush=True)


if __name__ == "__main__":
    main()
