"""Recordings with the frames of one library replaced by those of another: the same fault in another program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gapscope_backend.analysis.window import Frame, Window
from tests.analysis.ablations import rename_application

Stack = tuple[Frame, ...]


class Variant(NamedTuple):
    """``case`` with each run of frames below ``paths`` replaced by ``frames``, innermost first, names hashed."""

    case: str
    paths: tuple[str, ...]
    frames: tuple[str, ...]


def frames(*names: str) -> Stack:
    """Frames from ``file:function`` names."""
    return tuple(Frame(name.rpartition(":")[2], name.rpartition(":")[0], 10) for name in names)


def replace_runs(stack: Stack, paths: Sequence[str], new: Stack) -> Stack:
    """Each run of frames whose file begins with one of ``paths`` gives way to ``new``."""
    out: list[Frame] = []
    inside = False
    for frame in stack:
        hit = frame.file.startswith(tuple(paths))
        if hit and not inside:
            out += new
        if not hit:
            out.append(frame)
        inside = hit
    return tuple(out)


def map_stacks(window: Window, change: Callable[[Stack], Stack]) -> Window:
    """The window with every distinct stack changed."""
    stacks = window.stacks
    if stacks is None:
        return window
    numbers: dict[Frame, int] = {}
    changed = []
    for stack in stacks.stacks:
        new = change(tuple(stacks.frames[i] for i in stack))
        changed.append(tuple(numbers.setdefault(frame, len(numbers)) for frame in new))
    return replace(window, stacks=replace(stacks, stacks=tuple(changed), frames=tuple(numbers)))


def apply(variant: Variant, window: Window) -> Window:
    """The variant of its recording, application names hashed before the new library comes in."""
    new = frames(*variant.frames)
    return map_stacks(rename_application(window), lambda stack: replace_runs(stack, variant.paths, new))


MODULE = ("torch/nn/modules/module.py:_call_impl", "torch/nn/modules/module.py:_wrapped_call_impl")
DECODE = ("PIL/", "torchvision/transforms/", "torch/nn/modules/module.py")
QUEUE = ("threading.py", "queue.py")
LOADER = ("PIL/", "torchvision/transforms/", "torch/nn/modules/")
ASYNC = (
    "asyncio/base_events.py:BaseEventLoop._run_once",
    "asyncio/base_events.py:BaseEventLoop.run_forever",
    "asyncio/runners.py:Runner.run",
    "uvicorn/server.py:Server.run",
)
SITE = "/opt/venv/lib/python3.12/site-packages/"
GPT = "transformers/"

VARIANTS: Mapping[str, Variant] = {
    # work of the CPU on the feeding thread
    "OpenCV, no frames of its own": Variant("image-service-pil", DECODE, ()),
    "albumentations": Variant(
        "image-service-pil", DECODE, ("albucore/functions.py:normalize", "albumentations/core/composition.py:__call__")
    ),
    "pandas": Variant(
        "image-service-pil",
        DECODE,
        ("pandas/core/groupby/ops.py:WrappedCythonOp._call_cython_op", "pandas/core/groupby/groupby.py:GroupBy.mean"),
    ),
    "fast tokenizer": Variant(
        "image-service-pil",
        DECODE,
        (
            "transformers/tokenization_utils_fast.py:PreTrainedTokenizerFast._encode_plus",
            "transformers/tokenization_utils_base.py:PreTrainedTokenizerBase.__call__",
        ),
    ),
    "librosa below a module": Variant(
        "image-service-pil",
        DECODE,
        ("scipy/signal/_stft.py:stft", "librosa/core/spectrum.py:stft", "numba/core/x.py:f"),
    ),
    "absolute paths of Python 3.8": Variant(
        "image-service-pil", DECODE, ("/usr/lib/python3/dist-packages/PIL/ImageFile.py:load",)
    ),
    "detokenizer of a server": Variant(
        "image-service-pil", DECODE, ("vllm/v1/engine/detokenizer.py:FastIncrementalDetokenizer.decode_next",)
    ),
    # waiting for work
    "asyncio server": Variant("image-service-batch-window", QUEUE, ("selectors.py:EpollSelector.select", *ASYNC)),
    "uvloop server": Variant("image-service-batch-window", QUEUE, ("uvloop/__init__.py:run", "uvicorn/server.py:run")),
    "janus": Variant(
        "image-service-batch-window", QUEUE, ("threading.py:wait", "janus/__init__.py:_SyncQueueProxy.get")
    ),
    "queue of another process": Variant(
        "image-service-batch-window", QUEUE, ("multiprocessing/connection.py:_poll", "multiprocessing/queues.py:get")
    ),
    "zmq": Variant("image-service-batch-window", QUEUE, ("zmq/sugar/socket.py:Socket.recv_multipart",)),
    "nothing to do, asyncio": Variant("no-traffic", QUEUE, ("selectors.py:select", *ASYNC)),
    "nothing to do, executor": Variant("no-traffic", QUEUE, ("concurrent/futures/thread.py:_worker",)),
    # storage and network
    "requests": Variant(
        "remote-reads",
        ("n",),
        (
            "ssl.py:SSLSocket.recv_into",
            "socket.py:SocketIO.readinto",
            "http/client.py:HTTPResponse.read",
            "urllib3/response.py:read",
            "requests/models.py:generate",
        ),
    ),
    "s3fs": Variant(
        "remote-reads",
        ("n",),
        (
            "threading.py:wait",
            "threading.py:Event.wait",
            "fsspec/asyn.py:sync",
            "fsspec/asyn.py:wrapper",
            "s3fs/core.py:_fetch_range",
        ),
    ),
    "boto3": Variant("remote-reads", ("n",), ("botocore/httpsession.py:send", "boto3/s3/inject.py:download_fileobj")),
    "h5py": Variant("remote-reads", ("n",), ("h5py/_hl/dataset.py:Dataset.__getitem__",)),
    "torch.load": Variant("remote-reads", ("n",), ("torch/serialization.py:load",)),
    "numpy.load": Variant("remote-reads", ("n",), (SITE + "numpy/lib/format.py:read_array", "numpy/lib/npyio.py:load")),
    # saving
    "safetensors": Variant("checkpoints", ("torch/serialization.py",), ("safetensors/torch.py:save_file",)),
    "numpy.save": Variant(
        "checkpoints", ("torch/serialization.py",), ("numpy/lib/format.py:write_array", "numpy/lib/_npyio_impl.py:save")
    ),
    "pickle, no frames of its own": Variant("checkpoints", ("torch/serialization.py",), ()),
    "joblib": Variant(
        "checkpoints",
        ("torch/serialization.py",),
        ("pickle.py:_Pickler.save", "joblib/numpy_pickle.py:NumpyPickler.save"),
    ),
    "distributed checkpoint": Variant(
        "checkpoints",
        ("torch/serialization.py",),
        (
            "torch/distributed/checkpoint/filesystem.py:_write_item",
            "torch/distributed/checkpoint/state_dict_saver.py:save",
        ),
    ),
    "logging": Variant(
        "checkpoints",
        ("torch/serialization.py",),
        ("logging/__init__.py:StreamHandler.flush", "logging/__init__.py:emit"),
    ),
    "Trainer": Variant(
        "checkpoints",
        ("torch/serialization.py",),
        (
            "safetensors/torch.py:save_file",
            "transformers/trainer.py:_save",
            "transformers/trainer.py:Trainer._maybe_log_save_evaluate",
        ),
    ),
    # launching
    "own modules": Variant("decode-small-eager", (GPT,), ("/srv/model.py:Block.forward",)),
    "functional JAX": Variant("decode-small-eager", (GPT, "torch/"), ("jax/_src/pjit.py:cache_miss",)),
    "server's model": Variant(
        "decode-small-eager", (GPT,), ("vllm/model_executor/models/llama.py:LlamaModel.forward",)
    ),
    "compiled": Variant(
        "decode-small-eager",
        (GPT, "torch/"),
        ("/tmp/torchinductor_me/ab/cab.py:call", "torch/_inductor/output_code.py:CompiledFxGraph.__call__"),
    ),
    "Triton": Variant(
        "decode-small-eager",
        (GPT, "torch/"),
        ("triton/backends/nvidia/driver.py:__call__", "triton/runtime/jit.py:run"),
    ),
    "own calls only": Variant("decode-small-eager", (GPT, "torch/"), ("/srv/model.py:run",)),
    "ONNX": Variant(
        "decode-small-eager", (GPT, "torch/"), ("onnxruntime/capi/onnxruntime_inference_collection.py:Session.run",)
    ),
    # loaders
    "loader of Python 3.8": Variant(
        "train-two-workers",
        ("torch/utils/data/dataloader.py",),
        ("torch/utils/data/dataloader.py:_try_get_data", "torch/utils/data/dataloader.py:_next_data"),
    ),
    "Lightning": Variant(
        "train-two-workers",
        ("torch/utils/data/dataloader.py",),
        (
            "torch/utils/data/dataloader.py:_MultiProcessingDataLoaderIter._try_get_data",
            "lightning/pytorch/utilities/combined_loader.py:_Sequential.__next__",
            "lightning/pytorch/loops/fetchers.py:x",
        ),
    ),
    "DALI": Variant(
        "train-two-workers",
        ("threading.py", "queue.py", "torch/utils/data/dataloader.py"),
        (
            "nvidia/dali/pipeline.py:Pipeline.share_outputs",
            "nvidia/dali/plugin/pytorch.py:DALIGenericIterator.__next__",
        ),
    ),
    "workers with OpenCV": Variant("train-two-workers", LOADER, ()),
    "no workers, albumentations": Variant("train-no-workers", LOADER, ("albumentations/core/composition.py:__call__",)),
    "no workers, OpenCV": Variant("train-no-workers", LOADER, ()),
    "no workers, own collate": Variant(
        "train-no-workers", LOADER, ("torch/utils/data/_utils/collate.py:default_collate",)
    ),
    # the interpreter's lock, the allocator, results fetched in each step
    "another model beside the lock": Variant(
        "gil-threads",
        ("torchvision/", "torch/nn/"),
        ("transformers/models/bert/modeling_bert.py:BertLayer.forward", *MODULE),
    ),
    "thread returns from a wait without the lock": Variant(
        "gil-threads", ("torchvision/", "torch/nn/"), ("torch/cuda/__init__.py:synchronize",)
    ),
    "CuPy's pool": Variant("empty-cache", ("torch/",), ("cupy/cuda/memory.pyx:MemoryPool.free_all_blocks",)),
    "printed tensors": Variant(
        "item-each-step", ("n",), ("torch/_tensor_str.py:_str_intern", "torch/_tensor.py:__repr__")
    ),
    "gradient scaler": Variant("item-each-step", ("n",), ("torch/amp/grad_scaler.py:GradScaler._maybe_opt_step",)),
}
