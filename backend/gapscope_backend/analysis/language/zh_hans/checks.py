"""Lines of the go-live checklist: what was seen, and what to do."""

TEXTS = {
    # batching
    "Put more into each launch: dynamic batching in the server, larger batches in training; then look at CUDA "
    "graphs for what stays small.": (
        "让每次启动做更多工作：服务端使用动态批处理，训练用更大的批；仍然偏小的部分再考虑 CUDA graph。"
    ),
    "Expected batch = arrival rate x window. If requests are rare, shorten the window (their latency pays for "
    "it); if they are many, send a batch as soon as it is full instead of when the window ends.": (
        "预期批大小 = 到达率 × 窗口。请求稀少时缩短窗口（它以延迟为代价）；请求密集时，批一满就发出，不要等窗口结束。"
    ),
    "Batching on, and its window fitting": "已启用批处理，且攒批窗口合适",
    "{gpu} spends {share:.0%} of the time on batches too small{filled}.": (
        "{gpu} 有 {share:.0%} 的时间在处理过小的批{filled}。"
    ),
    "{gpu} waits {share:.0%} of the time for requests or for a batching window.": (
        "{gpu} 有 {share:.0%} 的时间在等待请求或攒批窗口。"
    ),
    "{gpu}: its SMs are {share:.0%} active while it works, whatever holds it up now.": (
        "{gpu}：工作时 SM 活跃率为 {share:.0%}，无论现在是什么在拖住它。"
    ),
    "{gpu}: its SMs are {share:.0%} active while it works.": "{gpu}：工作时 SM 活跃率为 {share:.0%}。",
    ", which fill {share:.0%} of its SMs while it works": "，工作时只填满 {share:.0%} 的 SM",
    "No GPU was under load, or SM activity is not measured here.": "没有 GPU 处于负载下，或这里无法测量 SM 活跃率。",
    # clocks
    "Check cooling, power supply and limits: nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE.": (
        "检查散热、供电与限制：nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE。"
    ),
    "Clocks not throttled": "频率未被压低",
    "{gpu} runs{told} under load{limit}.": "{gpu} 负载下正常运行{told}{limit}。",
    "hardware slowdown": "硬件降频",
    "software thermal": "软件温度限制",
    "hardware thermal": "硬件温度限制",
    "power brake": "功率制动",
    " at {now:.0f} of {peak:.0f} MHz": "（{now:.0f} MHz，最高 {peak:.0f} MHz）",
    "{gpu} is slowed {share:.0%} of the loaded time{told} ({why:, }).": (
        "{gpu} 在 {share:.0%} 的负载时间内被降频{told}（{why:、}）。"
    ),
    ", {share:.0%} of the time at its power limit": "，{share:.0%} 的时间处于功率上限",
    "No GPU was under load, or clock reasons are not told here.": "没有 GPU 处于负载下，或这里得不到时钟事件原因。",
    "set limit": "人为设定的限制",
    # cpu
    "Raise the container's CPU limit (resources.limits.cpu), or leave it out and keep the request.": (
        "提高容器的 CPU 上限（resources.limits.cpu），或去掉上限只保留 request。"
    ),
    "Start fewer threads and workers than cores (OMP_NUM_THREADS, num_workers), or move other work off this host.": (
        "让线程与 worker 的数量少于核心数（OMP_NUM_THREADS、num_workers），或把其他工作移出这台主机。"
    ),
    "CPU quota and cores sufficient": "CPU 配额与核心数充足",
    "{group} was throttled by its CPU quota {share:.0%} of the time.": (
        "{group} 有 {share:.0%} 的时间被 CPU 配额限流。"
    ),
    "{busy:.1f} of {cores} cores busy on the host.": "主机 {cores} 个核心中有 {busy:.1f} 个忙碌。",
    "A thread of pid {pid}, which holds a GPU, was ready but without a core {share:.0%} of the time.": (
        "占用 GPU 的 pid {pid} 有一个线程在 {share:.0%} 的时间内就绪却拿不到核心。"
    ),
    "{figure} A GPU waits {share:.0%} of the time for a core.": "{figure}有 GPU 在 {share:.0%} 的时间内等待核心。",
    "CPU figures of the host were not read.": "没有读取到主机的 CPU 数据。",
    # DataLoader
    "Use fewer workers than cores: they take the CPU from each other.": "worker 应少于核心数：它们在互相争抢 CPU。",
    "No DataLoader was seen; nothing to judge where there is none.": "没有看到 DataLoader，因此无可判断。",
    "No stacks, and no DataLoader workers seen; nothing to judge where there is none.": (
        "没有调用栈，也没有看到 DataLoader worker，因此无可判断。"
    ),
    "DataLoader workers sensible": "DataLoader worker 设置合理",
    "up to the {cores} cores of this host, shared by all its trainers": (
        "不超过这台主机的 {cores} 个核心，由其上所有训练任务共享"
    ),
    "The workers themselves wait: look at their storage, prefetch_factor, and the size of what they hand over.": (
        "worker 自身也在等待：请检查它们的存储、prefetch_factor，以及所交付数据的大小。"
    ),
    "{workers} workers on {cores} cores": "{cores} 个核心上有 {workers} 个 worker",
    "{told}{each}; the trainer waits {share:.0%} of the time for batches.": (
        "{told}{each}；训练进程有 {share:.0%} 的时间在等待数据批。"
    ),
    "Set num_workers ({room}), persistent_workers=True and pin_memory=True.": (
        "设置 num_workers（{room}）、persistent_workers=True 和 pin_memory=True。"
    ),
    "The workers are busy all the time: raise num_workers from {workers} ({room}), or make them cheaper.": (
        "worker 一直忙碌：把 num_workers 从 {workers} 调高（{room}），或减轻它们的工作。"
    ),
    "No workers (num_workers=0)": "没有 worker（num_workers=0）",
    ", each using {cores:.2f} of a core": "，每个占用 {cores:.2f} 个核心",
    # evenness
    "Give each GPU its own process and share of the work, equal batches and equal data; look for one slow rank "
    "or a router that sends all to one.": (
        "让每块 GPU 有自己的进程和均等的工作、批与数据；检查是否有某个 rank 较慢，或路由把全部请求发给了同一块。"
    ),
    "GPUs evenly loaded": "各 GPU 负载均衡",
    "{busiest} is active {most:.0%} of the time, {idlest} {least:.0%}.{nobody}": (
        "{busiest} 有 {most:.0%} 的时间活跃，{idlest} 为 {least:.0%}。{nobody}"
    ),
    "Fewer than two GPUs were measured.": "测得的 GPU 少于两块。",
    " Nobody holds {free:, }.": "{free:、} 没有进程占用。",
    # memory
    "Memory headroom": "显存余量",
    "{gpu}: at most {most} of {total} in use ({share:.0%}).": "{gpu}：最多使用 {total} 中的 {most}（{share:.0%}）。",
    "Leave room for the largest request or batch: smaller caches or batches, or the next allocation fails.": (
        "为最大的请求或批留出空间：减小缓存或批，否则下一次分配会失败。"
    ),
    "{gpu} waits {share:.0%} of the time while device memory is allocated and freed.": (
        "{gpu} 有 {share:.0%} 的时间在等待显存的分配与释放。"
    ),
    "Take out empty_cache(), keep shapes steady, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.": (
        "去掉 empty_cache()，保持张量形状稳定，或设置 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True。"
    ),
    "How much memory the GPU has or uses is not known.": "不知道 GPU 有多少显存或用了多少。",
    # NUMA
    "Feeding threads near their GPU (NUMA)": "供数线程位于 GPU 近端（NUMA）",
    "{gpu}: its feeding threads last ran on other CPUs than {near} in {share:.0%} of the time.": (
        "{gpu}：其供数线程有 {share:.0%} 的时间运行在 {near} 以外的 CPU 上。"
    ),
    "Bind the process to the near CPUs: taskset -c {near}, or numactl --cpunodebind.": (
        "把进程绑定到近端 CPU：taskset -c {near}，或 numactl --cpunodebind。"
    ),
    "All CPUs are near the GPU, or which are near, or where its feeding threads ran, is not known.": (
        "所有 CPU 都在 GPU 近端，或不知道哪些在近端、供数线程运行在哪里。"
    ),
    "Compare nvidia-smi topo -m with taskset -pc PID.": "请比较 nvidia-smi topo -m 与 taskset -pc PID。",
    # other faults
    "Nothing else costs GPU time": "没有其他原因占用 GPU 时间",
    "{gpu} loses {share:.0%} of the time, most to {cause}: {title} ({most:.0%}).": (
        "{gpu} 损失 {share:.0%} 的时间，最多的是 {cause}：{title}（{most:.0%}）。"
    ),
    "{gpu} loses {share:.0%} of the time to other faults.": "{gpu} 因其他问题损失 {share:.0%} 的时间。",
    "No GPU was measured.": "没有测得任何 GPU。",
    # PCIe
    "Compare LnkSta with LnkCap (lspci -vv) under load; reseat the card, check slot, riser, bifurcation and "
    "firmware.": ("在负载下比较 LnkSta 与 LnkCap（lspci -vv）；重新插拔板卡，检查插槽、转接卡、通道拆分和固件。"),
    "PCIe link at its maximum under load": "负载下 PCIe 链路达到最高规格",
    "{gpu}: generation {generation:.0f} x{width:.0f} under load, of generation {most} x{widest}; below it "
    "{share:.0%} of the loaded time.": (
        "{gpu}：负载下为第 {generation:.0f} 代 x{width:.0f}，最高为第 {most} 代 x{widest}；{share:.0%} 的负载时间低"
        "于最高规格。"
    ),
    "The link's state under load is not known: no load, or no readings of it.": (
        "不知道负载下的链路状态：没有负载，或没有链路读数。"
    ),
    # precision
    "Allow TF32 (torch.set_float32_matmul_precision('high')), or use BF16/FP16 (autocast, model.half(), the "
    "server's dtype option).": (
        "允许 TF32（torch.set_float32_matmul_precision('high')），或使用 BF16/FP16（autocast、model.half()、服务的 "
        "dtype 选项）。"
    ),
    "FP16, BF16 or TF32 in use": "使用 FP16、BF16 或 TF32",
    "{gpu}, while it works: tensor pipes {tensor:.1%}, FP32 pipe {fp32:.1%}": (
        "{gpu} 工作时：张量管线 {tensor:.1%}，FP32 管线 {fp32:.1%}"
    ),
    "{figure}; {share:.0%} of the time is FP32 on a full chip.": (
        "{figure}；{share:.0%} 的时间是占满芯片的 FP32 计算。"
    ),
    "{figure}: too little arithmetic to tell the precision.": "{figure}：算术运算太少，无法判断精度。",
    "{figure}.": "{figure}。",
    "{figure}: what it computes is FP32, though that is not the limit yet.": (
        "{figure}：它在用 FP32 计算，不过这还不是瓶颈。"
    ),
    "No GPU was under load, or its pipes are not measured here.": "没有 GPU 处于负载下，或这里无法测量其管线。",
    # preprocessing
    "Move decoding, resizing, tokenising and tables to other processes, or onto the GPU (nvJPEG, DALI, "
    "torchvision on CUDA tensors); the feeding thread should only launch.": (
        "把解码、缩放、分词和表格处理移到其他进程，或放到 GPU 上（nvJPEG、DALI、对 CUDA 张量使用 torchvision）；供"
        "数线程应只负责启动内核。"
    ),
    "Preprocessing off the feeding thread, or on the GPU": "预处理不在供数线程上，或在 GPU 上进行",
    "{gpu} waits {share:.0%} of the time for CPU work of its own process{where}.": (
        "{gpu} 有 {share:.0%} 的时间在等待其自身进程的 CPU 工作{where}。"
    ),
    ", most in {function} ({file}:{line})": "，最多的是 {function}（{file}:{line}）",
    "{gpu}: no Python stacks of its feeding threads.": "{gpu}：没有其供数线程的 Python 调用栈。",
    "Allow stacks on this host.": "请在这台主机上允许采集调用栈。",
    # sub-second view
    "Sub-second view available": "具备亚秒级视图",
    "no hardware counters, only {source}": "没有硬件计数器，只有 {source}",
    "{gpu}: {source}, every {period:.0f} ms, {late:.1%} of the steps late.": (
        "{gpu}：{source}，每 {period:.0f} 毫秒一次，{late:.1%} 的采样迟到。"
    ),
    "Use a GPU with GPM counters (Hopper and newer) or dcgm-exporter; utilization hides gaps under 200 ms.": (
        "使用带 GPM 计数器的 GPU（Hopper 及更新），或使用 dcgm-exporter；利用率会掩盖 200 毫秒以下的空闲间隙。"
    ),
    "{gpu}: nothing tells when it works.": "{gpu}：没有任何数据能说明它何时在工作。",
    "Sample ten times a second; gaps hide in averages over seconds.": (
        "每秒采样十次；以秒为单位的平均会掩盖空闲间隙。"
    ),
    "Sample ten times a second; shorter gaps are averaged away.": "每秒采样十次；更短的空闲间隙会被平均掉。",
    "There is no GPU here, or the span is too short.": "这里没有 GPU，或时间段太短。",
    "hardware counters (GPM)": "硬件计数器（GPM）",
    # synchronisation
    "Keep results on the GPU: no .item(), .cpu(), print of tensors or synchronize() inside the step; log every n "
    "steps, copy with non_blocking=True.": (
        "让结果留在 GPU 上：步内不要 .item()、.cpu()、打印张量或 synchronize()；每 n 步记录一次日志，拷贝时使用 "
        "non_blocking=True。"
    ),
    "No needless synchronisation": "没有不必要的同步",
    "{gpu} loses {share:.0%} of the time to results that each step waits for{where}.": (
        "{gpu} 因每一步都要等待结果而损失 {share:.0%} 的时间{where}。"
    ),
    "No Python stacks of feeding threads; a synchronisation is seen there alone.": (
        "没有供数线程的 Python 调用栈；同步只能从那里看到。"
    ),
    ", most at {file}:{line} ({code})": "，最多的是 {file}:{line}（{code}）",
}
