"""The checklist as a whole, options of known programs, and what counters cannot tell."""

TEXTS = {
    "{host}, {seconds:.0f} s: {told:, }.": "{host}，{seconds:.0f} 秒：{told:，}。",
    "{said} No GPU was asked for anything: check again under load.": (
        "{said}没有 GPU 收到任何任务：请在有负载时再检查一次。"
    ),
    "{count} to fix": "{count} 项需修复",
    "{count} to look at": "{count} 项需关注",
    "{count} good": "{count} 项良好",
    "{count} not measurable": "{count} 项无法测量",
    # beyond counters
    "Which kernels and copies overlap, on which streams, and what lies between them?": (
        "哪些内核与拷贝相互重叠、在哪些 stream 上，它们之间又有什么？"
    ),
    "Why do the warps of a kernel stall, and how near is it to its own roofs?": (
        "某个内核的 warp 为何停顿，它离自身的上限有多近？"
    ),
    "Which operators and modules take the time (PyTorch, started with KINETO_USE_DAEMON=1 beside dynolog)?": (
        "哪些算子和模块耗时（PyTorch，以 KINETO_USE_DAEMON=1 启动并配合 dynolog）？"
    ),
    # options of servers and trainers
    "Server and trainer options": "服务与训练程序的选项",
    "its model repository": "其模型仓库",
    "{program} (pid {pid}): {said}": "{program}（pid {pid}）：{said}",
    "{told:; }.": "{told:；}。",
    "{options:, }": "{options:，}",
    "defaults": "默认值",
    "models in {where}; Triton does not batch unless a model's configuration says so": (
        "模型位于 {where}；除非模型配置中写明，Triton 不做批处理"
    ),
    "Look into config.pbtxt: max_batch_size above 0, dynamic_batching { } (off by default; "
    "max_queue_delay_microseconds is 0 by default), instance_group count.": (
        "请检查 config.pbtxt：max_batch_size 大于 0、dynamic_batching { }（默认关闭；max_queue_delay_microseconds "
        "默认为 0）、instance_group 的 count。"
    ),
    "Set batchSize and maxBatchDelay (100 ms by default) of the model, and check that the handler takes batches.": (
        "设置模型的 batchSize 和 maxBatchDelay（默认 100 毫秒），并确认 handler 能处理批。"
    ),
    "No command line of a known server or trainer was seen.": "没有看到已知服务或训练程序的命令行。",
    "{advice: }": "{advice:}",
    "--dtype {dtype}": "--dtype {dtype}",
    "Serve in bfloat16 or float16 (--dtype auto takes the model's own).": (
        "使用 bfloat16 或 float16 提供服务（--dtype auto 采用模型自带的类型）。"
    ),
    "at most {count:g} sequences at once: continuous batching is next to off": (
        "最多同时 {count:g} 个序列：连续批处理几乎等于关闭"
    ),
    "Raise it (--max-num-seqs, --max-running-requests); decoding is bound by memory traffic, which a larger "
    "batch shares.": ("请调大（--max-num-seqs、--max-running-requests）；解码受显存流量限制，更大的批可以分摊它。"),
    "--max-batch-size {size:g}": "--max-batch-size {size:g}",
    "Raise it or leave it out; the router batches what fits in memory.": "请调大或去掉它；路由会按显存容量组批。",
    "--cuda-graphs 0": "--cuda-graphs 0",
    "Leave it out: decoding gets bound by launches.": "请去掉它：否则解码会受内核启动限制。",
    "TorchServe's batch size is 1 unless a model sets it ({config})": (
        "除非模型自行设置，TorchServe 的批大小为 1（{config}）"
    ),
    "TorchServe's batch size is 1 unless a model sets it": "除非模型自行设置，TorchServe 的批大小为 1",
    "no --mixed_precision: full precision unless accelerate's own configuration says otherwise": (
        "没有 --mixed_precision：除非 accelerate 自身配置另有说明，否则为全精度"
    ),
    "Give --mixed_precision bf16.": "请加上 --mixed_precision bf16。",
    "--dataloader_num_workers is 0: each batch is made by the trainer itself": (
        "--dataloader_num_workers 为 0：每个批都由训练进程自己准备"
    ),
    "Give it workers, such as --dataloader_num_workers 8.": "请给它 worker，例如 --dataloader_num_workers 8。",
    "neither --bf16 nor --fp16 nor --tf32: full precision": "没有 --bf16、--fp16 或 --tf32：全精度",
    "Give --bf16 True, or at least --tf32 True.": "请加上 --bf16 True，或至少 --tf32 True。",
    "{count:g} processes on {gpus} GPUs": "{gpus} 块 GPU 上有 {count:g} 个进程",
    "Start one process a GPU, unless others use the rest.": "每块 GPU 启动一个进程，除非其余 GPU 另有用途。",
    "--{flag}: no CUDA graphs": "--{flag}：不使用 CUDA graph",
    "Leave it out once it runs: decoding gets bound by launches.": "运行正常后请去掉它：否则解码会受内核启动限制。",
}
