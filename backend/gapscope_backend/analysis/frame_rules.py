"""The table behind ``frames``: path prefixes of well-known libraries, the first match decides.

To teach a library: add one line here and one line to ``tests/analysis/test_frames.py``. Paths are relative to the
folder of installed packages, functions are regular expressions searched in py-spy's (qualified) function name.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """``path`` prefix and, where given, ``function`` pattern of a frame of ``kind`` (a ``FrameKind`` value)."""

    kind: str
    path: str
    function: str | None = None


def _all(kind: str, *paths: str) -> tuple[Rule, ...]:
    return tuple(Rule(kind, path) for path in paths)


_SAVE = r"(^|\.)_?(save|dump|write|emit|flush|add_)"

LOADERS = (
    Rule("loader_wait", "torch/utils/data/dataloader.py", r"_try_get_data|_get_data"),
    Rule("loader_helper", "torch/utils/data/_utils/pin_memory.py"),
    Rule("loader_helper", "torch/utils/data/_utils/worker.py"),
    Rule("loader_work", "torch/utils/data/_utils/fetch.py"),
    Rule("loader_work", "torch/utils/data/_utils/collate.py"),
    Rule("neutral", "torch/utils/data/"),
    Rule("loader_work", "webdataset/"),
    Rule("loader_work", "streaming/base/"),
)

FILES = (
    Rule("checkpoint", "torch/serialization.py", r"(^|\.)_?(legacy_)?save|_open_zipfile_writer"),
    Rule("io", "torch/serialization.py"),
    Rule("checkpoint", "torch/distributed/checkpoint/", r"save|write"),
    Rule("checkpoint", "torch/utils/tensorboard/"),
    Rule("checkpoint", "tensorboardX/"),
    Rule("checkpoint", "safetensors/", r"save"),
    Rule("checkpoint", "transformers/trainer.py", r"_save|save_model|_maybe_log"),
    Rule("checkpoint", "transformers/modeling_utils.py", r"save_pretrained"),
    Rule("checkpoint", "accelerate/checkpointing.py", r"save"),
    Rule("checkpoint", "lightning/pytorch/callbacks/model_checkpoint.py"),
    Rule("checkpoint", "pytorch_lightning/callbacks/model_checkpoint.py"),
    Rule("checkpoint", "orbax/checkpoint/", r"save|write"),
    Rule("checkpoint", "joblib/numpy_pickle.py", _SAVE),
    Rule("checkpoint", "numpy/lib/", r"(^|\.)(save|savez|write_array)"),
    Rule("io", "numpy/lib/", r"(^|\.)(load|fromfile|read_array)"),
    Rule("checkpoint", "h5py/", r"__setitem__|create_dataset"),
    Rule("checkpoint", "logging/", r"emit|flush|handle"),
    Rule("checkpoint", "wandb/"),
    Rule("checkpoint", "mlflow/"),
)

DEVICE = (
    Rule("device_wait", "torch/cuda/__init__.py", r"^synchronize"),
    Rule("device_wait", "torch/cuda/streams.py", r"synchronize|wait|query"),
    Rule("device_wait", "torch/accelerator/", r"synchronize"),
    Rule("device_wait", "cupy/cuda/", r"synchronize"),
    Rule("device_wait", "jax/", r"block_until_ready"),
    Rule("allocator", "torch/cuda/memory.py"),
    Rule("sync", "torch/_tensor_str.py"),
    Rule("sync", "torch/_tensor.py", r"__(format|repr|str|array|bool|int|float|contains|iter)__|tolist"),
    Rule("sync", "jax/_src/array.py", r"__(array|float|int|bool|format|repr)__|_value|tolist"),
    Rule("sync", "tensorflow/python/framework/ops.py", r"numpy"),
    Rule("collective", "torch/distributed/distributed_c10d.py"),
    Rule("collective", "horovod/"),
)

CPU_WORK = _all(
    "cpu_work",
    "PIL/",
    "torchvision/transforms/",
    "torchvision/io/",
    "torchvision/datasets/",
    "torchaudio/transforms/",
    "torchaudio/compliance/",
    "cv2/",
    "albumentations/",
    "albucore/",
    "imgaug/",
    "imageio/",
    "skimage/",
    "scipy/",
    "sklearn/",
    "numpy/",
    "numba/core/",
    "pandas/",
    "polars/",
    "pyarrow/",
    "datasets/",
    "tokenizers/",
    "tiktoken/",
    "sentencepiece/",
    "nltk/",
    "spacy/",
    "jieba/",
    "transformers/tokenization",
    "transformers/image_processing",
    "transformers/image_transforms",
    "transformers/image_utils",
    "transformers/feature_extraction",
    "transformers/processing_utils",
    "transformers/audio_utils",
    "transformers/video_",
    "librosa/",
    "soundfile.py",
    "av/",
    "decord/",
    "shapely/",
    "rdkit/",
    "xgboost/",
    "lightgbm/",
    "pydantic/",
    "orjson/",
    "bs4/",
    "lxml/",
    "json/",
    "csv.py",
    "re/",
    "sre_",
    "gzip.py",
    "bz2.py",
    "lzma.py",
    "zipfile",
    "tarfile.py",
    "base64.py",
    "hashlib.py",
    "random.py",
    "statistics.py",
    "difflib.py",
    "copy.py",
    "collections/",
    "html/",
    "unicodedata",
)

FILE_AND_NETWORK = (
    Rule("server_wait", "socket.py", r"accept"),
    *_all("server_wait", "socketserver.py", "http/server.py", "selectors.py", "asyncio/", "uvicorn/", "gunicorn/"),
    *_all("server_wait", "grpc/", "zmq/", "tornado/", "waitress/", "hypercorn/", "werkzeug/serving.py", "aiohttp/web"),
    *_all("io", "socket.py", "ssl.py", "http/client.py", "urllib3/", "urllib/request.py", "requests/", "httpx/"),
    *_all("io", "httpcore/", "aiohttp/client", "botocore/", "boto3/", "s3fs/", "gcsfs/", "adlfs/", "fsspec/"),
    *_all("io", "google/cloud/storage/", "huggingface_hub/", "minio/", "smart_open/", "paramiko/", "ftplib.py"),
    *_all("io", "lmdb/", "h5py/", "zarr/", "tables/", "netCDF4/", "redis/", "psycopg", "pymongo/", "sqlalchemy/"),
    *_all("io", "sqlite3/", "kafka/", "confluent_kafka/", "pika/", "shutil.py", "pathlib", "tempfile.py"),
    Rule("io", "pickle.py", r"load"),
    Rule("io", "mmap.py"),
)

WAITS = (
    Rule("queue_wait", "threading.py", r"wait|acquire|join|_wait_for_tstate_lock|__enter__"),
    Rule("queue_wait", "queue.py"),
    Rule("queue_wait", "concurrent/futures/"),
    Rule("queue_wait", "multiprocessing/queues.py"),
    Rule("queue_wait", "multiprocessing/connection.py"),
    Rule("queue_wait", "multiprocessing/pool.py"),
    Rule("queue_wait", "multiprocessing/synchronize.py"),
    Rule("queue_wait", "multiprocessing/managers.py"),
    Rule("queue_wait", "subprocess.py"),
    Rule("queue_wait", "signal.py"),
    Rule("queue_wait", "janus/"),
    Rule("neutral", "threading.py"),
    Rule("neutral", "multiprocessing/"),
    *_all("neutral", "contextlib.py", "functools.py", "runpy.py", "torch/utils/_contextlib.py", "torch/_jit_internal"),
)

FRAMEWORKS = (
    Rule("import", "torch/_inductor/"),
    Rule("import", "torch/_dynamo/", r"(^|\.)(convert|transform|compile|step|run|trace)"),
    Rule("backward", "torch/autograd/"),
    Rule("module_call", "torch/nn/modules/module.py"),
    *_all("launch", "torch/", "torchvision/", "torchaudio/", "transformers/", "diffusers/", "timm/", "accelerate/"),
    *_all("launch", "vllm/", "sglang/", "flash_attn/", "xformers/", "triton/", "apex/", "deepspeed/", "megatron/"),
    *_all("launch", "peft/", "bitsandbytes/", "sentence_transformers/", "torch_geometric/", "torchmetrics/"),
    *_all("launch", "lightning/", "pytorch_lightning/", "ignite/", "fastai/", "ultralytics/", "mmcv/", "mmengine/"),
    *_all("launch", "jax/", "jaxlib/", "flax/", "optax/", "haiku/", "equinox/", "tensorflow/", "keras/", "cupy/"),
    *_all("launch", "numba/cuda/", "onnxruntime/", "tensorrt/", "torch_tensorrt/", "tensorrt_llm/"),
)

RULES: tuple[Rule, ...] = (
    *LOADERS,
    *FILES,
    *DEVICE,
    *CPU_WORK,
    *FILE_AND_NETWORK,
    *WAITS,
    *FRAMEWORKS,
)
