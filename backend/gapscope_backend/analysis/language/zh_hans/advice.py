"""Advice of causes, and what would change their verdict."""

TEXTS = {
    "Remove empty_cache() from the loop, allocate buffers once, and against fragmentation set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.": (
        "把 empty_cache() 移出循环，缓冲区只分配一次；如有显存碎片，设置 "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True。"
    ),
    "No allocator frames in the feeding thread's stacks.": "供数线程的调用栈中不出现显存分配器的栈帧。",
    "Put more into each launch: larger or dynamic batches, several streams or model instances, lower precision "
    "once the chip is full.": (
        "让每次启动做更多工作：增大批大小或使用动态批处理、使用多个 stream 或多个模型实例；芯片填满后再降低精度。"
    ),
    "SM active near graphics active, and higher occupancy.": "SM 活跃率接近引擎活跃率，且占用率更高。",
    "Save asynchronously (torch.distributed.checkpoint.async_save, or a copy to pinned memory that a thread "
    "writes), less often, or to faster storage.": (
        "异步保存（torch.distributed.checkpoint.async_save，或先拷到锁页内存再由线程写盘），降低保存频率，或换用更"
        "快的存储。"
    ),
    "No save on the feeding thread's stack in the gaps.": "空闲间隙中供数线程的调用栈上没有保存操作。",
    "Record Python stacks beside the readings (py-spy dump --nonblocking, or py-spy record -p PID for a while), "
    "or look closer with: nsys profile --trace=cuda,osrt,nvtx COMMAND, or torch.profiler.": (
        "在采集读数的同时记录 Python 调用栈（py-spy dump --nonblocking，或用 py-spy record -p PID 采一段时间），或"
        "进一步用 nsys profile --trace=cuda,osrt,nvtx COMMAND 或 torch.profiler 查看。"
    ),
    "Stacks of the feeding thread, which would name the reason.": "供数线程的调用栈，它能指明原因。",
    "Counters cannot tell more; see single kernels with: nsys profile --trace=cuda COMMAND, then ncu COMMAND.": (
        "计数器无法给出更多信息；用 nsys profile --trace=cuda COMMAND 查看单个内核，再用 ncu COMMAND 深入分析。"
    ),
    "A kernel timeline.": "内核时间线。",
    "Start fewer threads and workers than cores (OMP_NUM_THREADS, num_workers, intra-op threads), or move other "
    "work off this host.": (
        "让线程与 worker 的数量少于核心数（OMP_NUM_THREADS、num_workers、intra-op 线程数），或把其他工作移出这台主机。"
    ),
    "Free cores, or a feeding thread that gets its CPU time.": "有空闲核心，或供数线程能拿到所需的 CPU 时间。",
    "Take this work off the thread that feeds the GPU: to worker processes, to a faster library, or to the GPU "
    "itself (decode with nvJPEG, resize and normalise as tensors).": (
        "把这些工作从给 GPU 供数的线程上移走：交给 worker 进程、换用更快的库，或放到 GPU 上做（用 nvJPEG 解码，以张"
        "量形式缩放和归一化）。"
    ),
    "Stacks of the feeding thread that stand in the framework or in a wait while the GPU idles.": (
        "GPU 空闲时，供数线程的调用栈停在框架内部或处于等待。"
    ),
    "Raise or remove the container's CPU limit (Kubernetes: resources.limits.cpu), or start fewer threads.": (
        "提高或取消容器的 CPU 上限（Kubernetes：resources.limits.cpu），或减少线程数。"
    ),
    "No throttled time in cpu.stat.": "cpu.stat 中没有被限流的时间。",
    "Use more workers (num_workers, up to the free cores), persistent_workers and prefetch_factor; make the "
    "transforms cheaper, cache decoded data, or decode on the GPU.": (
        "增加 worker（num_workers，不超过空闲核心数），启用 persistent_workers 与 prefetch_factor；简化数据变换、缓"
        "存解码后的数据，或在 GPU 上解码。"
    ),
    "Workers that are idle while the trainer waits (then storage is the cause).": (
        "训练进程等待时 worker 处于空闲（那么原因是存储）。"
    ),
    "Move the Python work out of this process (multiprocessing, a separate service), or into code that lets go "
    "of the lock; or use free-threaded Python.": (
        "把 Python 工作移出该进程（多进程或独立服务），或放进会释放 GIL 的代码；也可以使用自由线程版 Python。"
    ),
    "A feeding thread that is on the CPU or owns the lock while the GPU idles.": (
        "GPU 空闲时，供数线程正在 CPU 上运行或持有 GIL。"
    ),
    "Hand out work by load instead of in turn (shortest queue), split long requests, or balance shards.": (
        "按负载而不是轮流分发工作（最短队列优先），拆分过长的请求，或均衡数据分片。"
    ),
    "Siblings with like graphics active, or a host that is busy for this GPU.": (
        "同一作业各 GPU 的引擎活跃率相近，或主机正忙于为这块 GPU 工作。"
    ),
    "If one of them must be fast, give it a GPU or a MIG slice of its own; MPS lets them run side by side.": (
        "若其中一个进程必须快，请给它独占的 GPU 或 MIG 切片；MPS 可以让它们并行运行。"
    ),
    "A single process with SM utilization.": "只有一个进程有 SM 利用率。",
    "Read ahead in other threads or processes, keep data nearer (local NVMe, memory), and read larger pieces.": (
        "用其他线程或进程预读，把数据放得更近（本地 NVMe、内存），并每次读取更大的块。"
    ),
    "A feeding thread that computes, or waits for another thread, while the GPU idles.": (
        "GPU 空闲时，供数线程在计算，或在等待另一个线程。"
    ),
    "Launch less often: CUDA graphs, torch.compile(mode='reduce-overhead'), fused kernels, larger batches.": (
        "减少内核启动次数：CUDA graph、torch.compile(mode='reduce-overhead')、融合内核、更大的批大小。"
    ),
    "SMs well filled while the GPU works, or a feeding thread that waits or computes something else.": (
        "GPU 工作时 SM 填得较满，或供数线程在等待或在计算别的东西。"
    ),
    "The hardware is at its roof. Do more with each byte: larger batches, quantised weights, fused kernels; or a "
    "GPU with more bandwidth.": (
        "硬件已到上限。让每个字节做更多工作：更大的批大小、量化权重、融合内核；或换用显存带宽更高的 GPU。"
    ),
    "DRAM active well below its ceiling.": "显存活跃率远低于其上限。",
    "Make the job smaller (batch, sequence length, activation checkpointing, a lower reserve of the server), "
    "allocate once, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; on the host, fewer workers or more "
    "memory.": (
        "缩小作业（批大小、序列长度、激活重计算、降低服务预留的显存），只分配一次，设置 "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True；在主机上减少 worker 或增加内存。"
    ),
    "Free device memory, or no time in the allocator or in swapping while the GPU idles.": (
        "有空闲显存，或 GPU 空闲时没有时间花在分配器或换页上。"
    ),
    "Allow TF32 (torch.set_float32_matmul_precision('high')) or use BF16/FP16 autocast.": (
        "允许 TF32（torch.set_float32_matmul_precision('high')），或使用 BF16/FP16 autocast。"
    ),
    "Tensor pipes active, or an FP32 pipe that is not the limit.": "张量管线活跃，或 FP32 管线并非瓶颈。",
    "Nothing to repair. To use the GPU better: send it more work, put more services on it, or scale down.": (
        "无需修复。要更好地利用 GPU：给它更多工作、在上面部署更多服务，或缩减规模。"
    ),
    "CPU use in the owner during the pauses, or work that waits elsewhere (a queue that is not empty).": (
        "停顿期间占用进程有 CPU 使用，或有工作在别处等待（队列不为空）。"
    ),
    "Bind the process to the GPU's socket: numactl --cpunodebind=N --membind=N, with N from nvidia-smi topo -m.": (
        "把进程绑定到 GPU 所在的插槽：numactl --cpunodebind=N --membind=N，其中 N 取自 nvidia-smi topo -m。"
    ),
    "Feeding threads on the GPU's own CPUs, or copies at the link's full rate.": (
        "供数线程运行在 GPU 近端的 CPU 上，或拷贝达到链路满速。"
    ),
    "Reseat the card, check slot, riser and firmware; compare LnkSta with LnkCap in lspci -vv under load.": (
        "重新插拔板卡，检查插槽、转接卡和固件；在负载下用 lspci -vv 比较 LnkSta 与 LnkCap。"
    ),
    "Generation and width at their maxima while data moves.": "传输数据时链路的代数与宽度都达到最高。",
    "Nothing to do here.": "这里无需处理。",
    "Idle time, or work that leaves most of the chip empty.": "出现空闲时间，或工作只用到芯片的一小部分。",
    "Record Python stacks beside the readings (py-spy dump --nonblocking) and let the agent read hardware "
    "counters, or run it under a profiler: nsys profile --trace=cuda,osrt,nvtx COMMAND, or torch.profiler.": (
        "在采集读数的同时记录 Python 调用栈（py-spy dump --nonblocking），并允许 agent 读取硬件计数器；或在分析器下"
        "运行：nsys profile --trace=cuda,osrt,nvtx COMMAND，或 torch.profiler。"
    ),
    "Stacks, counters and CPU figures for this time.": "这段时间的调用栈、计数器和 CPU 数据。",
    "See the state of the sources on this host.": "请查看这台主机上各数据源的状态。",
    "Readings of the GPU for this time.": "这段时间的 GPU 读数。",
    "Look at the slow rank's own causes first; give every rank the same amount of work and the same input path.": (
        "先查较慢 rank 自身的原因；让每个 rank 的工作量和输入路径一致。"
    ),
    "Peers with equal graphics active, or more useful work on this GPU than on the idle one.": (
        "各对端的引擎活跃率相同，或这块 GPU 上的有效工作多于空闲的那块。"
    ),
    "Keep results on the GPU: collect losses as tensors, read them every hundred steps, log from another stream, "
    "avoid .item(), .cpu(), nonzero and prints of tensors in the loop.": (
        "让结果留在 GPU 上：把 loss 累积为张量，每一百步再读取一次，在另一个 stream 上记录日志，循环中避免 .item()"
        "、.cpu()、nonzero 和打印张量。"
    ),
    "Source lines without a fetch, or a thread that runs ahead of the GPU.": (
        "源代码行没有取回结果的操作，或线程能跑在 GPU 前面。"
    ),
    "Check cooling, power supply and limits (nvidia-smi -q -d PERFORMANCE,CLOCK,POWER) and locked clocks "
    "(nvidia-smi -rgc).": (
        "检查散热、供电与功耗限制（nvidia-smi -q -d PERFORMANCE,CLOCK,POWER）以及锁定的频率（nvidia-smi -rgc）。"
    ),
    "SM clock near its maximum under load.": "负载下 SM 频率接近最高值。",
    "Use pinned memory (pin_memory=True) and non_blocking copies on a stream of their own, overlap them with "
    "compute, send smaller types (uint8, fp16), and keep on the GPU what is used again.": (
        "使用锁页内存（pin_memory=True），在独立的 stream 上做 non_blocking 拷贝并与计算重叠，传输更小的数据类型（"
        "uint8、fp16），重复使用的数据留在 GPU 上。"
    ),
    "Low PCIe traffic from host to device while the GPU idles.": "GPU 空闲时，主机到设备的 PCIe 流量较低。",
    "Fetch less and less often, reduce on the GPU first, copy into pinned memory without blocking, and overlap "
    "it with the next step.": ("减少取回的数据量和次数，先在 GPU 上做归约，非阻塞地拷到锁页内存，并与下一步重叠。"),
    "Low PCIe traffic from device to host while the GPU idles.": "GPU 空闲时，设备到主机的 PCIe 流量较低。",
    "See which copies run (nsys profile --trace=cuda) and overlap or avoid them.": (
        "查看有哪些拷贝在运行（nsys profile --trace=cuda），让它们重叠或避免它们。"
    ),
    "PCIe counters, which would tell the direction.": "PCIe 计数器，它能区分传输方向。",
    "Give the GPU work, share it with another job, or hand it back.": "给 GPU 安排工作、与其他作业共享，或把它归还。",
    "A process with a context on the GPU.": "有进程在该 GPU 上持有上下文。",
    "Shorten the batching window or let a batch start when the GPU is free; send more requests at once; let the "
    "next batch be collected while the GPU works on this one.": (
        "缩短攒批窗口，或在 GPU 空闲时立即发起一批；同时发送更多请求；在 GPU 处理当前批时收集下一批。"
    ),
    "A thread or child process that computes while the feeding thread waits.": (
        "供数线程等待时，有另一个线程或子进程在计算。"
    ),
}
