"""Sentences on top of answers, titles of causes, notes."""

TEXTS = {
    # sentences of verdicts
    "{gpu!u} worked well: no fault or limit cost more than a small share of {time}.": (
        "{time}内，{gpu} 工作良好：没有任何问题或上限占用明显的时间。"
    ),
    "{gpu!u} had no work for {share:.0%} of {time}: its owner slept and nothing arrived.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间没有任务：占用它的进程处于休眠，也没有新的工作到来。"
    ),
    "Nobody held {gpu} for {share:.0%} of {time}.": "{time}内，{gpu} 有 {share:.0%} 的时间没有任何进程占用。",
    "{gpu!u} waited {share:.0%} of {time} for requests or for a batching window.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待请求或等待攒批窗口。"
    ),
    "{gpu!u} waited {share:.0%} of {time} for CPU work in the process that feeds it{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待供数进程中的 CPU 工作{where}。"
    ),
    "{gpu!u} waited {share:.0%} of {time} for the DataLoader{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待 DataLoader{where}。"
    ),
    "{gpu!u} waited {share:.0%} of {time} because its host's cores were all taken.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待，因为主机的 CPU 核心已全部被占满。"
    ),
    "{gpu!u} waited {share:.0%} of {time} because its container's CPU quota was used up.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待，因为容器的 CPU 配额已用尽。"
    ),
    "{gpu!u} waited {share:.0%} of {time} for Python's interpreter lock{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待 Python 解释器锁（GIL）{where}。"
    ),
    "{gpu!u} waited {share:.0%} of {time} for storage or network{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待存储或网络{where}。"
    ),
    "{gpu!u} waited {share:.0%} of {time} while state was saved or logged{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待状态保存或日志写入{where}。"
    ),
    "{gpu!u} spent {share:.0%} of {time} on copies from host to device.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间花在主机到设备的拷贝上。"
    ),
    "{gpu!u} spent {share:.0%} of {time} on copies back to the host.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间花在设备到主机的拷贝上。"
    ),
    "{gpu!u} spent {share:.0%} of {time} on moving data over PCIe.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间花在 PCIe 数据传输上。"
    ),
    "{gpu!u} spent {share:.0%} of {time} on copies over a PCIe link below its maximum.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间花在拷贝上，而 PCIe 链路未达到其最高规格。"
    ),
    "{gpu!u} spent {share:.0%} of {time} on copies that are slow because the far socket feeds it.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间花在拷贝上，由于由远端 CPU 插槽供数，拷贝较慢。"
    ),
    "{gpu!u} lost {share:.0%} of {time} because memory was short{where}.": (
        "{time}内，{gpu} 因内存不足损失了 {share:.0%} 的时间{where}。"
    ),
    "{gpu!u} waited {share:.0%} of {time} for the host to launch its many small kernels{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待主机启动大量小内核{where}。"
    ),
    "{gpu!u} and host waited for each other for {share:.0%} of {time}, as each step fetches a result{where}.": (
        "{time}内，{gpu} 与主机有 {share:.0%} 的时间在互相等待，因为每一步都要取回结果{where}。"
    ),
    "{gpu!u} waited {share:.0%} of {time} while device memory was allocated and freed{where}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在等待显存的分配与释放{where}。"
    ),
    "{gpu!u} worked for {share:.0%} of {time} on batches too small to fill it.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在处理过小的批，无法填满芯片。"
    ),
    "{gpu!u} ran at the limit of its memory bandwidth for {share:.0%} of {time}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间运行在显存带宽的上限。"
    ),
    "{gpu!u} computed in FP32 beside idle tensor cores for {share:.0%} of {time}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间用 FP32 计算，而张量核心闲置。"
    ),
    "{gpu!u} lost {share:.0%} of {time} spinning in a collective for a slower peer.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间在集合通信中空转，等待较慢的对端。"
    ),
    "{gpu!u} lost {share:.0%} of {time} with one GPU idle while its sibling was full.": (
        "{time}内，{gpu} 损失了 {share:.0%} 的时间：一块 GPU 空闲，而同一作业的另一块满载。"
    ),
    "{gpu!u} was taken in turns by another process, for {share:.0%} of {time}.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间被另一个进程轮流占用。"
    ),
    "{gpu!u} lost {share:.0%} of {time} to reduced clocks.": "{time}内，{gpu} 因降频损失了 {share:.0%} 的时间。",
    "{gpu!u} was held up by the host for {share:.0%} of {time}; the data does not tell more.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间被主机侧拖住；现有数据无法给出更细的原因。"
    ),
    "{gpu!u} was held up on its own side for {share:.0%} of {time}; the data does not tell more.": (
        "{time}内，{gpu} 有 {share:.0%} 的时间被 GPU 侧拖住；现有数据无法给出更细的原因。"
    ),
    "{gpu!u} lost {share:.0%} of {time} to something that the data does not explain.": (
        "{time}内，{gpu} 损失了 {share:.0%} 的时间，现有数据无法解释其原因。"
    ),
    "Of {gpu} nothing is known for {share:.0%} of {time}.": "{time}内，{gpu} 有 {share:.0%} 的时间没有任何数据。",
    ", most often in {function} ({file}:{line})": "，其中最多的是 {function}（{file}:{line}）",
    "{said} There is no data for {share:.0%} of that time.": "{said}其中 {share:.0%} 的时间没有数据。",
    "There is no data from {start} to {end}.": "{start} 至 {end} 没有数据。",
    "There is no GPU time to explain in this window.": "该时间段内没有可供分析的 GPU 时间。",
    "the {name}": "{name}",
    "the {count} GPUs": "{count} 块 GPU",
    "GPU {index}": "GPU {index}",
    "GPUs {indexes:, }": "GPU {indexes:、}",
    "GPU {index}: {text}": "GPU {index}：{text}",
    "the last {time}": "最近 {time}",
    "{amount:.0f} ms": "{amount:.0f} 毫秒",
    "{amount:.0f} s": "{amount:.0f} 秒",
    "{amount:.0f} min": "{amount:.0f} 分钟",
    "{amount:.0f} minutes": "{amount:.0f} 分钟",
    "{amount:.0f} GPU-milliseconds": "{amount:.0f} GPU 毫秒",
    "{amount:.0f} GPU-seconds": "{amount:.0f} GPU 秒",
    "{amount:.0f} GPU-minutes": "{amount:.0f} GPU 分钟",
    "idle": "空闲",
    # titles of causes
    "Allocates and frees device memory": "反复分配和释放显存",
    "Works on batches that cannot fill it": "批太小，填不满 GPU",
    "Waits while state is saved or logged": "等待状态保存或日志写入",
    "Held up by the host": "被主机侧拖住",
    "Held up on the GPU's side": "被 GPU 侧拖住",
    "Waits because the CPU is full": "CPU 已满，GPU 等待",
    "Waits for CPU work in the feeding process": "等待供数进程中的 CPU 工作",
    "Waits because the container's CPU quota is used up": "容器 CPU 配额用尽，GPU 等待",
    "Waits for the DataLoader": "等待 DataLoader",
    "Waits for Python's interpreter lock": "等待 Python 解释器锁（GIL）",
    "Idles while a sibling of the same job is full": "空闲，而同一作业的另一块 GPU 满载",
    "Taken in turns by another process": "被另一个进程轮流占用",
    "Waits for storage or network": "等待存储或网络",
    "Waits for kernel launches": "等待内核启动",
    "Limited by its own memory bandwidth": "受显存带宽限制",
    "Is short of memory": "内存不足",
    "Computes in FP32 beside idle tensor cores": "用 FP32 计算，张量核心闲置",
    "No work arrives": "没有任务到来",
    "Is fed from the far socket": "由远端 CPU 插槽供数",
    "Copies over a PCIe link below its maximum": "PCIe 链路未达最高规格，拷贝变慢",
    "Works, and fills the chip": "正常工作，芯片已填满",
    "Not explained": "原因不明",
    "No data": "没有数据",
    "Spins in a collective for a slower peer": "在集合通信中空转，等待较慢的对端",
    "Host and GPU wait for each other": "主机与 GPU 互相等待",
    "Runs at reduced clocks": "以较低频率运行",
    "Copies data to the GPU": "向 GPU 拷贝数据",
    "Copies data back to the host": "向主机拷回数据",
    "Moves data over PCIe": "通过 PCIe 传输数据",
    "Nobody holds the GPU": "没有进程占用 GPU",
    "Waits for requests or for a batching window": "等待请求或攒批窗口",
    # notes
    "no hardware counters; the time level is the driver's utilization, which counts copies as work and hides "
    "gaps under 200 ms, and how well the GPU worked cannot be told.": (
        "没有硬件计数器；时间层用的是驱动给出的利用率，它把拷贝也算作工作，并会掩盖 200 毫秒以下的空闲间隙，因此无"
        "法判断 GPU 的工作效率。"
    ),
    "This host has no GPU in this window.": "该时间段内这台主机没有 GPU。",
    "nothing was measured.": "没有任何测量数据。",
    "the data is slower than 100 ms; gaps shorter than its period are averaged away.": (
        "数据的采样间隔大于 100 毫秒；短于采样间隔的空闲间隙会被平均掉。"
    ),
    "no process was seen that holds this GPU.": "没有看到占用这块 GPU 的进程。",
    "no Python stacks of the threads that feed it; causes on the host's side stay coarse.": (
        "没有供数线程的 Python 调用栈；主机侧的原因只能粗略判断。"
    ),
    "only {count} stack samples; shares of causes on the host's side are rough.": (
        "只有 {count} 个调用栈样本；主机侧各原因的占比较为粗略。"
    ),
    # what following the advice gives back
    "all of it, once nothing makes the GPU wait for this": "全部，只要 GPU 不再为此等待",
    "run beside the GPU's work, the shorter of the two disappears": "与 GPU 的工作并行后，两者中较短的一段会消失",
    "{free:.0f} free cores beside {loading:.0f} that load": (
        "在 {loading:.0f} 个加载核心之外还有 {free:.0f} 个空闲核心"
    ),
    "kernels back to back: the time between them": "内核首尾相接：省去它们之间的时间",
    "at TF32's pace, or the memory's": "按 TF32 的速度，或按显存的速度",
    "the same work on all SMs": "同样的工作分布到全部 SM 上",
    "work shared evenly with the sibling": "与另一块 GPU 均分工作",
    "copies at the link's full rate": "拷贝达到链路满速",
}
