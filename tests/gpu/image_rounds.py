"""An image service through the rounds that engineers take: ``python -m tests.gpu.image_rounds ROUND --seconds N``.

1: PIL on the serving thread, batch 1, fp32. 2: decoded and resized on the GPU, batch 1. 3: dynamic batching, up to 32
requests or 4 ms. 4: the same in fp16, channels last, in a CUDA graph. Sixty-four requests are in flight. Prints a JSON
line when it is warm and one with requests a second and latencies at the end.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Sequence

import torch
import torchvision
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg

from tests.gpu.image_service import PREPARE, photo
from tests.gpu.load import Load, Request, serve

BATCH, WINDOW_SECONDS, FLIGHT = 32, 0.004, 64
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
Prepare = Callable[[Sequence[Request]], torch.Tensor]


def on_the_thread(requests: Sequence[Request]) -> torch.Tensor:
    """Decode and resize with PIL, on the calling thread."""
    images = [PREPARE(Image.open(io.BytesIO(body)).convert("RGB")) for _, body in requests]
    return torch.stack(images).cuda()


def on_the_gpu(requests: Sequence[Request]) -> torch.Tensor:
    """Decode, resize and normalise on the GPU."""
    raw = [torch.frombuffer(bytearray(body), dtype=torch.uint8) for _, body in requests]
    images = decode_jpeg(raw, mode=ImageReadMode.RGB, device="cuda")
    mean = torch.tensor(MEAN, device="cuda").view(1, 3, 1, 1)
    deviation = torch.tensor(DEVIATION, device="cuda").view(1, 3, 1, 1)
    resized = [torch.nn.functional.interpolate(image[None].float(), (224, 224), mode="bilinear") for image in images]
    return (torch.cat(resized) / 255 - mean) / deviation


def graphed(model: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """The model in fp16 and channels last, captured once at the full batch; smaller batches are padded."""
    half = model.half().to(memory_format=torch.channels_last)
    held = torch.zeros(BATCH, 3, 224, 224, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            half(held)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = half(held)

    def run(batch: torch.Tensor) -> torch.Tensor:
        held[: len(batch)].copy_(batch)
        graph.replay()
        return answer[: len(batch)]

    return run


def build_step(round_: int, load: Load) -> Callable[[], int]:
    model = torchvision.models.resnet50(weights=None).cuda().eval()
    prepare: Prepare = on_the_thread if round_ == 1 else on_the_gpu
    run = graphed(model) if round_ == 4 else model
    most, window = (BATCH, WINDOW_SECONDS) if round_ >= 3 else (1, 0.0)

    def step() -> int:
        requests = load.take(most, window)
        run(prepare(requests)).argmax(1).cpu()
        load.answer(requests)
        return len(requests)

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("round", type=int, choices=(1, 2, 3, 4))
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    load = Load([photo(640, 480, seed) for seed in range(8)], FLIGHT)
    with torch.inference_mode():
        step = build_step(arguments.round, load)
        serve(load, step, 2.0)
        print(json.dumps({"ready": arguments.round}), flush=True)
        print(json.dumps({"round": arguments.round, **serve(load, step, arguments.seconds)}), flush=True)


if __name__ == "__main__":
    main()
