"""Facts of evidence, and labels of figures."""

TEXTS = {
    "CPU of the owners inside the kernel": "占用进程在操作系统内核态的 CPU",
    "idle time in frames of the device memory allocator": "空闲时间中处于显存分配器栈帧的占比",
    "time that the driver counts as use though no kernel runs": "驱动计为使用中、但没有内核运行的时间占比",
    "of the SMs are active while the GPU works": "GPU 工作时活跃的 SM 占比",
    "of the warps are resident while it works": "GPU 工作时驻留的 warp 占比",
    "idle time in frames that save or log": "空闲时间中处于保存或日志栈帧的占比",
    "written by the owner": "占用进程的写入速率",
    "idle time in imports and compilation": "空闲时间中处于导入和编译的占比",
    "idle time in which the host waits for the GPU though no kernel runs": (
        "空闲时间中没有内核运行、主机却在等待 GPU 的占比"
    ),
    "CPU of the processes that hold the GPU": "占用 GPU 的进程的 CPU",
    "idle time in native calls that cannot be told apart": "空闲时间中处于无法区分的原生调用的占比",
    "cores busy on the host, of {cores:.0f}": "主机上忙碌的核心数（共 {cores:.0f} 个）",
    "of its ready time the feeding thread waits for a core": "供数线程就绪时间中等待核心的占比",
    "idle time in which it is launching GPU work": "空闲时间中它正在启动 GPU 工作的占比",
    "of the traffic that launching all the time would cause": "相对于持续启动内核所产生流量的比例",
    "CPU of the owners outside Python threads": "占用进程在 Python 线程之外的 CPU",
    "idle time in which the feeding thread computes outside the framework's launch path": (
        "空闲时间中供数线程在框架启动路径之外做计算的占比"
    ),
    "idle time in which it waits for another thread or child that computes": (
        "空闲时间中它等待另一个正在计算的线程或子进程的占比"
    ),
    "time in which the control group was held by its CPU quota": "控制组因 CPU 配额被限制的时间占比",
    "CPU of the worker processes": "worker 进程的 CPU",
    "idle time in which the trainer waits for DataLoader workers": "空闲时间中训练进程等待 DataLoader worker 的占比",
    "idle time in which the trainer loads the batch itself (no workers)": (
        "空闲时间中训练进程自己加载数据批的占比（没有 worker）"
    ),
    "idle time in which the feeding thread is off the CPU while another thread owns the lock": (
        "空闲时间中供数线程不在 CPU 上、而另一个线程持有 GIL 的占比"
    ),
    "CPU of the owner: about one core, as the lock allows": "占用进程的 CPU：约一个核心，正是 GIL 所允许的上限",
    "graphics active here": "这块 GPU 的引擎活跃率",
    "graphics active on GPU {index} of the same job": "同一作业 GPU {index} 的引擎活跃率",
    "SM utilization of process {pid}": "进程 {pid} 的 SM 利用率",
    "cores idle while a task waits for a disk": "有任务等待磁盘时空闲的核心数",
    "CPU of the owner": "占用进程的 CPU",
    "of their work, time in which workers wait for data": "worker 的工作时间中等待数据的占比",
    "idle time in which the feeding thread waits for a file or socket that it reads": (
        "空闲时间中供数线程等待所读文件或套接字的占比"
    ),
    "idle time in which it waits for another thread that reads": "空闲时间中它等待另一个正在读取的线程的占比",
    "idle time in which it computes something else": "空闲时间中它在计算别的东西的占比",
    "idle time in which the feeding thread is launching GPU work": "空闲时间中供数线程正在启动 GPU 工作的占比",
    "of the peak memory bandwidth while the GPU works": "GPU 工作时达到的显存带宽峰值比例",
    "tensor pipes active while it works": "GPU 工作时张量管线活跃率",
    "time in which tasks of the host waited for memory": "主机上有任务等待内存的时间占比",
    "of the device's memory in use": "已用显存占比",
    "idle time in frames of the allocator": "空闲时间中处于分配器栈帧的占比",
    "SMs active while it works": "GPU 工作时 SM 活跃率",
    "FP32 pipe active while the GPU works": "GPU 工作时 FP32 管线活跃率",
    "FP64 pipe active while it works": "GPU 工作时 FP64 管线活跃率",
    "power in these pauses": "这些停顿期间的功率",
    "at rest (below {level:.0%}) in pauses of 0.5 s and longer": (
        "在 0.5 秒及以上的停顿中处于静止（低于 {level:.0%}）的时间"
    ),
    "CPU of the owners in these pauses": "这些停顿期间占用进程的 CPU",
    "time of the feeding threads on CPUs that are not the GPU's own": "供数线程运行在非 GPU 近端 CPU 上的时间占比",
    "of the PCIe link in use": "PCIe 链路使用率",
    "time with the link below its maximum, under load": "负载下链路低于最高规格的时间占比",
    "graphics active": "引擎活跃率",
    "SMs active while the GPU works": "GPU 工作时 SM 活跃率",
    "of the SMs are active while it counts as busy": "GPU 计为忙碌时活跃的 SM 占比",
    "tensor and FP pipes on GPU {index} of the same job, for the same work": (
        "同一作业 GPU {index} 完成同样工作时的张量与 FP 管线活跃率"
    ),
    "of the idle launching time goes to fetching results or waiting for the GPU": (
        "空闲的启动时间中用于取回结果或等待 GPU 的占比"
    ),
    "device to host, small pieces": "设备到主机的小块传输速率",
    "power, of {limit:.0f} W allowed": "功率（上限 {limit:.0f} W）",
    "of the maximum SM clock while the GPU works": "GPU 工作时相对最高 SM 频率的比例",
    "temperature": "温度",
    "of the PCIe link's {link:.0f} GB/s in use; the link is full": "PCIe 链路（{link:.0f} GB/s）的使用率；链路已满",
    "of the PCIe link's {link:.0f} GB/s in use; pageable memory would explain a rate so far below the link": (
        "PCIe 链路（{link:.0f} GB/s）的使用率；速率远低于链路，可能是因为使用了可分页内存"
    ),
    "SMs active": "SM 活跃率",
    "time in which only copy engines ran": "只有拷贝引擎在运行的时间占比",
    "processes that hold a context on it": "在其上持有上下文的进程数",
    "memory in use": "已用显存",
    "of it, time in which another thread or child was computing": "其中另一个线程或子进程在计算的时间占比",
    "idle time in which the feeding thread waits on a queue, lock or timer": (
        "空闲时间中供数线程等待队列、锁或定时器的占比"
    ),
    "idle time in which it is off the CPU in code of its own": "空闲时间中它停在自身代码里、不占用 CPU 的占比",
    # levels
    "{source} (coarse: copies count, 200 ms steps)": "{source}（粗略：拷贝也计入，步长 200 毫秒）",
    "utilization as nvidia-smi says": "nvidia-smi 利用率",
    "SM occupancy": "SM 占用率",
    "tensor pipes": "张量管线",
    "FP32 pipe": "FP32 管线",
    "of peak memory bandwidth": "显存带宽（占峰值）",
    "of the PCIe link, host to device": "PCIe 主机到设备（占链路）",
    "of the PCIe link, device to host": "PCIe 设备到主机（占链路）",
    "of the power limit": "功率（占上限）",
    "of peak memory bandwidth while it works": "工作时的显存带宽（占峰值）",
    "of the tensor pipes' peak while it works": "工作时的张量管线（占峰值）",
    "of the FP32 pipe's peak while it works": "工作时的 FP32 管线（占峰值）",
    # units
    "cores": "核",
    "processes": "个进程",
    "watts": "W",
    "celsius": "°C",
    "seconds": "秒",
    "switches/s": "次切换/秒",
    "-": "-",
    "{digits} {unit}": "{digits} {unit}",
    "{digits}{unit}": "{digits}{unit}",
    "{digits}": "{digits}",
}
