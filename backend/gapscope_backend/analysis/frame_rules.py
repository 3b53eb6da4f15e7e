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
    Rule("loader_work", "torch/utils/data/datapipes/"),
    Rule("neutral", "torch/utils/data/"),
    Rule("loader_wait", "nvidia/dali/", r"(^|\.)(run|share_outputs|_share_outputs|outputs|_get_outputs|__next__)$"),
    Rule("loader_work", "nvidia/dali/"),
    Rule("loader_wait", "tensorflow/python/data/", r"next|__iter__"),
    Rule("loader_wait", "torchdata/", r"__next__|next"),
    *_all("loader_work", "webdataset/", "wids/", "streaming/base/", "litdata/", "torchdata/", "ffcv/", "grain/"),
    *_all("loader_work", "transformers/data/data_collator.py", "squirrel/"),
    Rule("loader_wait", "ray/data/", r"iter|next|get"),
)

FILES = (
    Rule("checkpoint", "torch/serialization.py", r"(^|\.)_?(legacy_)?save|_open_zipfile_writer"),
    Rule("io", "torch/serialization.py"),
    Rule("checkpoint", "torch/distributed/checkpoint/", r"save|write"),
    Rule("io", "torch/distributed/checkpoint/", r"load|read"),
    Rule("checkpoint", "torch/utils/tensorboard/"),
    *_all("checkpoint", "tensorboardX/", "tensorboard/summary/", "tensorboard/compat/proto/"),
    Rule("checkpoint", "safetensors/", r"save"),
    Rule("io", "safetensors/"),
    Rule("checkpoint", "transformers/trainer.py", r"(^|\.)(_save|save_model|save_state|_save_\w+|log)$"),
    Rule("checkpoint", "transformers/modeling_utils.py", r"save_pretrained"),
    Rule("io", "transformers/modeling_utils.py", r"load_state_dict|_load_state_dict|load_shard"),
    Rule("checkpoint", "diffusers/models/modeling_utils.py", r"save_pretrained"),
    Rule("checkpoint", "accelerate/checkpointing.py", r"save"),
    Rule("checkpoint", "accelerate/accelerator.py", r"(^|\.)save"),
    Rule("checkpoint", "deepspeed/runtime/checkpoint_engine/"),
    Rule("checkpoint", "deepspeed/runtime/engine.py", r"save_checkpoint|_save"),
    Rule("checkpoint", "megatron/training/checkpointing.py", r"save"),
    Rule("checkpoint", "megatron/core/dist_checkpointing/", r"save|write"),
    Rule("checkpoint", "lightning/pytorch/callbacks/model_checkpoint.py"),
    Rule("checkpoint", "pytorch_lightning/callbacks/model_checkpoint.py"),
    Rule("checkpoint", "lightning/fabric/utilities/cloud_io.py", r"save"),
    Rule("checkpoint", "lightning/fabric/plugins/io/", r"save"),
    Rule("checkpoint", "keras/src/saving/", r"save|write"),
    Rule("checkpoint", "tensorflow/python/checkpoint/", r"save|write"),
    Rule("checkpoint", "orbax/checkpoint/", r"save|write"),
    Rule("checkpoint", "flax/training/checkpoints.py", r"save"),
    Rule("checkpoint", "joblib/numpy_pickle", _SAVE),
    Rule("io", "joblib/numpy_pickle", r"load|read"),
    Rule("checkpoint", "pickle.py", r"dump|save|memoize|(^|\.)_Pickler"),
    Rule("checkpoint", "_compat_pickle.py"),
    Rule("checkpoint", "cloudpickle/"),
    Rule("checkpoint", "dill/", r"dump|save"),
    Rule("checkpoint", "numpy/lib/", r"(^|\.)(_?save|savez|_savez|savetxt|write_array|_write_array_header)"),
    Rule("io", "numpy/lib/", r"(^|\.)(load|loadtxt|genfromtxt|fromfile|read_array|_read_bytes)|NpzFile"),
    Rule("io", "numpy/memmap.py"),
    Rule("io", "numpy/_core/memmap.py"),
    Rule("io", "numpy/core/memmap.py"),
    Rule("checkpoint", "h5py/", r"__setitem__|create_dataset|flush|write_direct"),
    Rule("checkpoint", "zarr/", r"__setitem__|set_basic_selection|_set_|(^|\.)set$"),
    Rule("checkpoint", "pandas/io/", r"(^|\.)(to_|write|save)"),
    Rule("checkpoint", "pandas/core/generic.py", r"(^|\.)to_(csv|parquet|pickle|hdf|sql|json|feather)"),
    Rule("checkpoint", "pyarrow/parquet/", r"write"),
    Rule("checkpoint", "json/__init__.py", r"(^|\.)dump$"),
    Rule("checkpoint", "logging/", r"emit|flush|handle|doRollover|shouldRollover"),
    *_all("checkpoint", "loguru/", "structlog/"),
    *_all("checkpoint", "wandb/", "mlflow/", "comet_ml/", "neptune/", "clearml/", "swanlab/"),
)

DEVICE = (
    Rule("device_wait", "torch/cuda/__init__.py", r"^synchronize"),
    Rule("device_wait", "torch/cuda/streams.py", r"synchronize|wait|query"),
    Rule("device_wait", "torch/accelerator/", r"synchronize"),
    Rule("device_wait", "cupy/cuda/", r"synchronize"),
    Rule("device_wait", "numba/cuda/", r"synchronize"),
    Rule("device_wait", "jax/", r"block_until_ready"),
    Rule("allocator", "torch/cuda/memory.py"),
    Rule("allocator", "cupy/cuda/memory", r"free|malloc"),
    Rule("allocator", "rmm/"),
    Rule("sync", "torch/_tensor_str.py"),
    Rule("sync", "torch/_tensor.py", r"__(format|repr|str|array|bool|int|float|contains|iter)__|tolist"),
    Rule("sync", "torch/amp/grad_scaler.py", r"_maybe_opt_step|get_scale|_check_inf"),
    Rule("sync", "torch/cuda/amp/grad_scaler.py", r"_maybe_opt_step|get_scale|_check_inf"),
    Rule("sync", "jax/_src/array.py", r"__(array|float|int|bool|format|repr)__|_value|tolist"),
    Rule("sync", "tensorflow/python/framework/ops.py", r"numpy"),
    Rule("collective", "torch/distributed/distributed_c10d.py"),
    Rule("collective", "torch/distributed/_functional_collectives.py"),
    Rule("collective", "torch/distributed/nn/functional.py"),
    Rule("collective", "horovod/"),
    Rule("collective", "mpi4py/"),
)

CARRIERS = (
    *_all("carrier", "datasets/", "joblib/", "sklearn/pipeline.py", "sklearn/utils/", "scipy/optimize/", "scipy/_lib/"),
    *_all("carrier", "skorch/", "optuna/", "click/", "typer/", "hydra/", "absl/", "tqdm/", "tenacity/"),
)
"""Libraries that call the application back: what is called below them counts, and only their own frames are work."""

CPU_WORK = _all(
    "cpu_work",
    *("PIL/", "cv2/", "albumentations/", "albucore/", "imgaug/", "imageio/", "skimage/", "kornia_rs/", "turbojpeg.py"),
    *("torchvision/transforms/", "torchvision/io/", "torchvision/datasets/", "torchaudio/transforms/", "pyvips/"),
    *(
        "torchvision/tv_tensors/",
        "torchaudio/compliance/",
        "torchaudio/backend/",
        "torchaudio/_backend/",
        "torchcodec/",
    ),
    *(
        "scipy/",
        "sklearn/",
        "numpy/",
        "numba/core/",
        "numba/np/",
        "numexpr/",
        "pandas/",
        "polars/",
        "pyarrow/",
        "dask/",
    ),
    *("modin/", "duckdb/", "feature_engine/", "category_encoders/", "statsmodels/", "networkx/", "simplejpeg.py"),
    *("tokenizers/", "tiktoken/", "sentencepiece/", "nltk/", "spacy/", "thinc/", "jieba/", "sacremoses/", "gensim/"),
    *("regex/", "ftfy/", "langdetect/", "langchain", "llama_index/", "jinja2/", "markdown/", "pypdf/"),
    "transformers/tokenization",
    "transformers/image_processing",
    "transformers/image_transforms",
    "transformers/image_utils",
    "transformers/feature_extraction",
    "transformers/processing_utils",
    "transformers/audio_utils",
    "transformers/video_",
    "transformers/utils/chat_template_utils.py",
    *("librosa/", "soundfile.py", "soxr/", "resampy/", "audioread/", "pydub/", "av/", "decord/", "moviepy/", "ffmpeg/"),
    *("shapely/", "rasterio/", "pydicom/", "nibabel/", "SimpleITK/", "monai/data/", "monai/transforms/", "tifffile/"),
    *("rdkit/", "MDAnalysis/", "xgboost/", "lightgbm/", "catboost/", "faiss/", "hnswlib/", "annoy/"),
    *("pydantic/", "orjson/", "ujson/", "msgspec/", "msgpack/", "google/protobuf/", "bs4/", "lxml/", "html5lib/"),
    *("json/", "csv.py", "re/", "re.py", "sre_", "_strptime.py", "html/", "xml/", "unicodedata", "string.py"),
    *("gzip.py", "bz2.py", "lzma.py", "zipfile", "tarfile.py", "_compression.py", "compression/", "zstandard/", "lz4/"),
    *("blosc/", "numcodecs/", "base64.py", "hashlib.py", "cryptography/", "uuid.py", "decimal.py", "_pydecimal.py"),
    *("random.py", "statistics.py", "difflib.py", "copy.py", "collections/", "heapq.py", "bisect.py", "fractions.py"),
    *("textwrap.py", "ast.py", "tokenize.py", "struct.py", "array.py", "gymnasium/", "gym/", "pettingzoo/", "mujoco/"),
    *("vllm/v1/core/", "vllm/core/", "vllm/v1/engine/processor.py", "vllm/v1/engine/input_processor.py"),
    *("vllm/v1/engine/detokenizer.py", "vllm/v1/engine/output_processor.py", "vllm/v1/engine/logprobs.py"),
    *("vllm/transformers_utils/", "vllm/multimodal/", "vllm/inputs/", "vllm/renderers/", "vllm/v1/structured_output/"),
    *("sglang/srt/managers/", "sglang/srt/mem_cache/", "xgrammar/", "outlines/", "lmformatenforcer/"),
)

FILE_AND_NETWORK = (
    Rule("server_wait", "socket.py", r"accept"),
    *_all("server_wait", "socketserver.py", "http/server.py", "selectors.py", "asyncio/", "uvloop/"),
    *_all("server_wait", "uvicorn/", "gunicorn/", "hypercorn/", "waitress/", "granian/", "cheroot/", "gevent/"),
    *_all("server_wait", "eventlet/", "grpc/", "zmq/", "tornado/", "aiohttp/web", "werkzeug/", "flask/", "django/"),
    *_all("server_wait", "starlette/", "fastapi/", "anyio/", "trio/", "sniffio/", "sanic/", "falcon/", "litserve/"),
    *_all("server_wait", "bentoml/", "_bentoml", "ray/serve/", "pytriton/", "triton_python_backend_utils.py"),
    *_all("server_wait", "gradio/", "streamlit/", "websockets/", "wsgiref/", "kserve/", "mosec/", "celery/"),
    *_all("server_wait", "kombu/", "billiard/", "aio_pika/", "nats/", "aiormq/"),
    *_all("io", "socket.py", "ssl.py", "http/client.py", "urllib3/", "urllib/", "requests/", "httpx/", "pycurl"),
    *_all(
        "io", "httpcore/", "h11/", "h2/", "aiohttp/client", "aiohttp/connector.py", "aiohttp/streams.py", "aiofiles/"
    ),
    *_all("io", "botocore/", "boto3/", "s3transfer/", "aiobotocore/", "s3fs/", "gcsfs/", "adlfs/", "ocifs/", "fsspec/"),
    *_all("io", "s3torchconnector", "google/cloud/storage/", "google/resumable_media/", "google/api_core/", "azure/"),
    *_all("io", "huggingface_hub/", "hf_transfer/", "minio/", "smart_open/", "paramiko/", "ftplib.py", "cloudpathlib/"),
    *_all("io", "lmdb/", "h5py/", "zarr/", "tables/", "netCDF4/", "xarray/backends/", "redis/", "psycopg", "asyncpg/"),
    *_all("io", "pymongo/", "pymysql/", "mysql/", "sqlalchemy/", "sqlite3/", "clickhouse", "cassandra/", "elastic"),
    *_all(
        "io", "kafka/", "confluent_kafka/", "pika/", "shutil.py", "pathlib", "tempfile.py", "fileinput.py", "glob.py"
    ),
    *_all("io", "kvikio/", "deepspeed/ops/aio/", "tensorstore/", "petastorm/", "pyfilesystem/"),
    Rule("io", "pickle.py", r"load"),
    *_all("io", "mmap.py", "_pyio.py", "codecs.py", "linecache.py"),
)

WAITS = (
    Rule("queue_wait", "threading.py", r"wait|acquire|join|_wait_for_tstate_lock|__enter__|_shutdown"),
    Rule("queue_wait", "queue.py"),
    Rule("queue_wait", "concurrent/futures/"),
    Rule("queue_wait", "multiprocessing/queues.py"),
    Rule("queue_wait", "multiprocessing/connection.py"),
    Rule("queue_wait", "multiprocessing/pool.py"),
    Rule("queue_wait", "multiprocessing/synchronize.py"),
    Rule("queue_wait", "multiprocessing/managers.py"),
    Rule("queue_wait", "multiprocessing/popen_", r"wait|poll"),
    Rule("queue_wait", "multiprocessing/process.py", r"join"),
    Rule("queue_wait", "torch/multiprocessing/", r"join|wait|get"),
    Rule("queue_wait", "torch/distributed/elastic/"),
    Rule("queue_wait", "torch/distributed/launcher/"),
    Rule("queue_wait", "subprocess.py"),
    Rule("queue_wait", "signal.py"),
    *_all("queue_wait", "janus/", "culsans/", "aiologic/", "faster_fifo/", "billiard/queues.py", "pebble/"),
    Rule("queue_wait", "ray/_private/worker.py", r"(^|\.)(get|wait|get_objects|main_loop)$"),
    Rule("queue_wait", "ray/util/queue.py"),
    Rule("queue_wait", "vllm/v1/engine/core_client.py"),
    Rule("queue_wait", "vllm/distributed/device_communicators/shm_broadcast.py", r"acquire|dequeue|wait"),
    Rule("neutral", "threading.py"),
    Rule("neutral", "multiprocessing/"),
    *_all("neutral", "contextlib.py", "functools.py", "runpy.py", "torch/utils/_contextlib.py", "torch/_jit_internal"),
    *_all("neutral", "typing.py", "typing_extensions.py", "abc.py", "_py_abc.py", "_weakrefset.py", "weakref.py"),
    *_all("neutral", "enum.py", "dataclasses.py", "operator.py", "inspect.py", "types.py", "torch/utils/hooks.py"),
    *_all(
        "neutral", "decorator.py", "wrapt/", "beartype/", "jaxtyping/", "opentelemetry/", "sentry_sdk/", "prometheus_"
    ),
)

_COMPILE = (
    r"(^|\.)(convert|transform|_?compile|compile_inner|_compile_fx|step|run|trace|_call_user_compiler|inner_convert)"
)
FRAMEWORKS = (
    *_all("launch", "torch/_inductor/runtime/", "torch/_inductor/output_code.py", "torch/_inductor/cudagraph_"),
    Rule("launch", "torch/_inductor/utils.py", r"(^|\.)run$"),
    Rule("launch", "torch/_inductor/compile_fx.py", r"(^|\.)(run|_run|wrapper)$"),
    Rule("import", "torch/_inductor/"),
    Rule("launch", "torch/_dynamo/eval_frame.py"),
    Rule("import", "torch/_dynamo/", _COMPILE),
    *_all("import", "torch/_export/", "torch/export/", "torch/onnx/", "torch/fx/experimental/", "torch/fx/passes/"),
    Rule("import", "triton/compiler/"),
    Rule("import", "triton/backends/", r"(^|\.)(make_|compile)"),
    Rule("import", "jax/_src/compiler.py"),
    Rule("import", "jax/_src/interpreters/mlir.py"),
    Rule("import", "jax/_src/interpreters/partial_eval.py"),
    Rule("import", "tensorrt_llm/builder.py"),
    *_all("launch", "torchinductor/", "<eval_with_key>"),
    Rule("backward", "torch/autograd/"),
    Rule("module_call", "torch/nn/modules/module.py"),
    *_all("launch", "torch/", "torchvision/", "torchaudio/", "transformers/", "diffusers/", "timm/", "accelerate/"),
    *_all("launch", "vllm/", "sglang/", "flash_attn/", "xformers/", "triton/", "apex/", "deepspeed/", "megatron/"),
    *_all("launch", "peft/", "bitsandbytes/", "sentence_transformers/", "torch_geometric/", "torchmetrics/", "trl/"),
    *_all("launch", "lightning/", "pytorch_lightning/", "ignite/", "fastai/", "ultralytics/", "mmcv/", "mmengine/"),
    *_all("launch", "mmdet/", "mmseg/", "detectron2/", "segmentation_models_pytorch/", "open_clip/", "monai/"),
    *_all("launch", "fairseq/", "espnet/", "speechbrain/", "nemo/", "whisper/", "faster_whisper/", "ctranslate2/"),
    *_all("launch", "jax/", "jaxlib/", "flax/", "optax/", "haiku/", "equinox/", "tensorflow/", "keras/", "cupy/"),
    *_all("launch", "numba/cuda/", "cuml/", "cudf/", "pylibraft/", "taichi/", "pycuda/", "cutlass/"),
    *_all(
        "launch", "onnxruntime/", "tensorrt/", "torch_tensorrt/", "tensorrt_llm/", "openvino/", "optimum/", "torchao/"
    ),
    *_all("launch", "transformer_engine/", "mamba_ssm/", "causal_conv1d/", "flashinfer/", "liger_kernel/"),
    *_all(
        "launch", "einops/", "opt_einsum/", "kornia/", "pytorch3d/", "gpytorch/", "botorch/", "pyro/", "e3nn/", "dgl/"
    ),
    *_all("launch", "torchrec/", "torchtitan/", "torchtune/", "composer/", "nanotron/", "colossalai/"),
    *_all(
        "launch", "stable_baselines3/", "tianshou/", "torchrl/", "skrl/", "paddle/", "mxnet/", "mindspore/", "oneflow/"
    ),
)

RULES: tuple[Rule, ...] = (
    *LOADERS,
    *FILES,
    *DEVICE,
    *CARRIERS,
    *CPU_WORK,
    *FILE_AND_NETWORK,
    *WAITS,
    *FRAMEWORKS,
)
