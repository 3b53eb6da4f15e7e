"""Where thresholds and formulas of causes come from."""

TEXTS = {
    "PyTorch CUDA memory management notes; recordings": "PyTorch CUDA 内存管理说明；录制数据",
    "DCGM: SM active 0.5 poor, 0.8 good; recordings": "DCGM：SM 活跃率 0.5 偏低、0.8 良好；录制数据",
    "PyTorch distributed checkpoint notes; write rates from recordings": (
        "PyTorch 分布式检查点说明；写入速率来自录制数据"
    ),
    "kernel schedstat run delay": "Linux 内核 schedstat 的运行延迟",
    "SageMaker debugger: GPU idle while a CPU is full; launch traffic from recordings": (
        "SageMaker Debugger：CPU 满载而 GPU 空闲；启动流量来自录制数据"
    ),
    "kernel CFS bandwidth control (cpu.stat)": "Linux 内核 CFS 带宽控制（cpu.stat）",
    "PyTorch TensorBoard plugin: over 5 % of a step; TensorBoard profiler: 5 and 20 %": (
        "PyTorch TensorBoard 插件：超过每步的 5%；TensorBoard Profiler：5% 和 20%"
    ),
    "sys.getswitchinterval (5 ms); recordings": "sys.getswitchinterval（5 ms）；录制数据",
    "contrast between siblings, from recordings": "同一作业各 GPU 之间的对比，来自录制数据",
    "NVIDIA time slicing of contexts; NVML process utilization": "NVIDIA 上下文时间片；NVML 进程利用率",
    "proc io counters; recordings": "/proc 的 io 计数器；录制数据",
    "DCGM: SM active below 0.5 is poor; 0.003 to 0.10 in recordings": (
        "DCGM：SM 活跃率低于 0.5 偏低；录制数据中为 0.003 至 0.10"
    ),
    "DCGM: 0.8 of DRAM active is a practical peak; 0.92 in recordings": (
        "DCGM：显存活跃率 0.8 为实际峰值；录制数据中为 0.92"
    ),
    "PyTorch CUDA memory management notes; kernel PSI documentation": (
        "PyTorch CUDA 内存管理说明；Linux 内核 PSI 文档"
    ),
    "NVIDIA data sheets: TF32 at 8 times FP32; recordings": "NVIDIA 数据手册：TF32 为 FP32 的 8 倍；录制数据",
    "Nsight Systems: gaps over 500 ms": "Nsight Systems：超过 500 ms 的间隙",
    "nvidia-smi topo; Intel Memory Latency Checker, AMD NPS tuning guides": (
        "nvidia-smi topo；Intel Memory Latency Checker、AMD NPS 调优指南"
    ),
    "PCI-SIG link rates": "PCI-SIG 链路速率",
    "NVIDIA NCCL: ranks spin in a collective's kernels; SM shares from recordings": (
        "NVIDIA NCCL：rank 在集合通信内核中空转；SM 占比来自录制数据"
    ),
    "PyTorch performance tuning guide; recordings": "PyTorch 性能调优指南；录制数据",
    "NVML clocks event reasons": "NVML 时钟事件原因",
    "PCI-SIG link rates; CUDA best practices: pinned against pageable memory": (
        "PCI-SIG 链路速率；CUDA 最佳实践：锁页内存与可分页内存"
    ),
    "NVML process lists": "NVML 进程列表",
    "Triton dynamic batching notes; recordings": "Triton 动态批处理说明；录制数据",
}
