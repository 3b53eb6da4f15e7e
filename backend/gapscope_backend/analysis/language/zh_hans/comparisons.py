"""What changed between spans, and what differs between gaps and the rest."""

TEXTS = {
    "{label}: {count} stack samples of feeding threads; its functions say little.": (
        "{label}：供数线程只有 {count} 个调用栈样本；其函数统计意义不大。"
    ),
    "{label}: no stack samples of feeding threads; its functions say little.": (
        "{label}：供数线程没有调用栈样本；其函数统计意义不大。"
    ),
    "the sides have different numbers of GPUs ({counts:, }); shares and means are per GPU.": (
        "各侧的 GPU 数量不同（{counts:，}）；占比与均值按每块 GPU 计算。"
    ),
    "{label}: {note}": "{label}：{note}",
    "{cause} ({title!l}) fell from {before:.0%} to {after:.0%}": "{cause}（{title}）从 {before:.0%} 降到 {after:.0%}",
    "{cause} ({title!l}) rose from {before:.0%} to {after:.0%}": "{cause}（{title}）从 {before:.0%} 升到 {after:.0%}",
    "{moves:, }.": "{moves:，}。",
    "But {moves:, }.": "但 {moves:，}。",
    "the power limit": "功率上限",
    "peak memory bandwidth while it works": "工作时的显存带宽峰值",
    "the tensor pipes' peak while it works": "工作时的张量管线峰值",
    "the FP32 pipe's peak while it works": "工作时的 FP32 管线峰值",
    "{parts: }": "{parts:}",
    "Next limit: no fault costs {share:.0%} or more{rest}; {roof}.": (
        "下一个瓶颈：没有任何问题占用 {share:.0%} 以上的时间{rest}；{roof}。"
    ),
    "the nearest roof is {roof}, at {value:.0%}": "最接近的硬件上限是{roof}，已达 {value:.0%}",
    "From {first} to {last}:": "从 {first} 到 {last}：",
    "Next limit: {cause}, {title!l}{share}.{advice}": "下一个瓶颈：{cause}，{title}{share}。{advice}",
    "how near its roofs are was not measured": "未测得与各硬件上限的距离",
    "no cause moved by {share:.0%} of the GPU time or more.": "没有任何原因的 GPU 时间占比变化达到 {share:.0%}。",
    "{label!u} went from {before} to {after}.": "{label}从 {before} 变为 {after}。",
    ", most {cause} ({title!l}, {share:.1%})": "，最多的是 {cause}（{title}，{share:.1%}）",
    " ({share:.0%})": "（{share:.0%}）",
    " {advice}": "{advice}",
    "power a GPU": "每块 GPU 的功率",
    "SM clock": "SM 频率",
    "device memory in use": "已用显存",
    "host to device": "主机到设备",
    "device to host": "设备到主机",
    "host": "主机",
    "host, waiting for disks": "主机，等待磁盘",
    "processes on the GPUs": "占用 GPU 的进程",
    "processes around them": "其周围的进程",
    # gaps against the rest
    "{gpu}: {gaps} {what} is {there}, {rest} {elsewhere}{falls}.": (
        "{gpu}：{gaps} {what} 为 {there}，{rest}为 {elsewhere}{falls}。"
    ),
    "{gpu}: {gaps} {what} {there} of the time, {rest} {elsewhere}{falls}.": (
        "{gpu}：{gaps}有 {there} 的时间 {what}，{rest}为 {elsewhere}{falls}。"
    ),
    "{idlest:.0%} to {busiest:.0%} busy": "忙碌率 {idlest:.0%} 至 {busiest:.0%}",
    "{said} It alternates too seldom in this window to rule out a coincidence.": (
        "{said}该时间段内交替次数太少，无法排除巧合。"
    ),
    "in its gaps": "在空闲间隙中",
    "while it works": "在工作时",
    "in the chosen span": "在所选时间段内",
    "outside it": "在其之外",
    "thread {name} is on a CPU": "线程 {name} 在 CPU 上运行",
    "process {name} is on a CPU": "进程 {name} 在 CPU 上运行",
    "; {share:.0%} of the idle time falls under {function} ({file}:{line})": (
        "；{share:.0%} 的空闲时间落在 {function}（{file}:{line}）之下"
    ),
    "{gpu} waits inside every 100 ms: each is {busy}, too alike to set gaps against the rest{hot}.": (
        "{gpu} 在每个 100 毫秒内都有等待：各段{busy}，差别太小，无法把空闲间隙与其余时间对比{hot}。"
    ),
    "{gpu}: nothing was measured in this window.": "{gpu}：该时间段内没有任何测量数据。",
    "{gpu} is {busy}, but {gaps} nothing that was seen differs from the rest by more than chance would give.": (
        "{gpu} {busy}，但{gaps}没有任何观测项与其余时间的差别超出偶然范围。"
    ),
    "{function} ({place}) is on the stack": "{function}（{place}）在调用栈上",
    "{gpu}: the chosen span is the whole window or none of it, so there is no rest to set it against.": (
        "{gpu}：所选时间段是整个窗口或完全在窗口之外，没有可对比的其余时间。"
    ),
    "{gpu} has no gaps: each 100 ms is {busy}.": "{gpu} 没有空闲间隙：每个 100 毫秒{busy}。",
    "; most idle time falls under {function} ({file}:{line})": "；大部分空闲时间落在 {function}（{file}:{line}）之下",
}
