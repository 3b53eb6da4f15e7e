"""Headings and lines of the text reports."""

TEXTS = {
    "": "",
    # the ribbon of stacks
    "this host's agent takes no Python stacks": "该主机的 agent 不采集 Python 调用栈",
    "no Python stacks were taken in this span": "该时间段内没有采集到 Python 调用栈",
    "{start}{text}{end}": "{start}{text}{end}",
    "note: {note}": "注意：{note}",
    "note of the recording: {note}": "录制数据自带的说明：{note}",
    # explain
    "{host}: verdict {verdict} (confidence {confidence:.0%}); {lost:.1f} GPU-seconds lost to faults": (
        "{host}：结论 {verdict}（置信度 {confidence:.0%}）；因问题损失 {lost:.1f} GPU 秒"
    ),
    "{cause}: {title} ({share:.1%}, confidence {confidence:.0%})": (
        "{cause}：{title}（{share:.1%}，置信度 {confidence:.0%}）"
    ),
    "{value} {text}{limits}  {signal}{at}": "{text}：{value}{limits}  {signal}{at}",
    "{text}{limits}  {signal}{at}": "{text}{limits}  {signal}{at}",
    " (against {threshold})": "（阈值 {threshold}）",
    "  at {spans:, }": "  位于 {spans:、}",
    "+{start:.1f}s to +{end:.1f}s": "+{start:.1f}s 至 +{end:.1f}s",
    "  + {fact}": "  + {fact}",
    "  - {fact}": "  - {fact}",
    "  {share:6.1%}  {place}  [{thread}, pid {pid}]": "  {share:6.1%}  {place}  [{thread}，pid {pid}]",
    "thread": "线程",
    "  would change this: {what}": "  会改变该结论的情况：{what}",
    "  advice ({priority}): {advice}": "  建议（{priority}）：{advice}",
    "  advice: {advice}": "  建议：{advice}",
    "  {cause}  {share:6.1%}  {seconds:8.1f} s  {bar}  {title}": (
        "  {cause}  {share:6.1%}  {seconds:8.1f} 秒  {bar}  {title}"
    ),
    "GPU {index} ({name}), means: {gaps}; {lag}": "GPU {index}（{name}），均值：{gaps}；{lag}",
    "{count} gap, {seconds:.1f} s": "{count} 个空闲间隙，共 {seconds:.1f} 秒",
    "{count} gaps, {seconds:.1f} s": "{count} 个空闲间隙，共 {seconds:.1f} 秒",
    "lag not estimated": "未能估计计数器延迟",
    "counters lag {lag:.0f} ms": "计数器延迟 {lag:.0f} 毫秒",
    "time: {figures:, }": "时间：{figures:，}",
    "pipelines: {figures:, }": "管线：{figures:，}",
    "throughput: {figures:, }": "吞吐：{figures:，}",
    "roofs: {figures:, }": "上限：{figures:，}",
    "  {level}": "  {level}",
    "{label} {value:.0%}": "{label}：{value:.0%}",
    "{label} {value:.0%} (the nearest)": "{label}：{value:.0%}（最接近）",
    "jobs": "作业",
    "  pid {job}: {verdict}, {lost:.1f} of {seconds:.1f} GPU-seconds lost, on GPU {gpus:, } ({rows:, })": (
        "  pid {job}：{verdict}，{seconds:.1f} GPU 秒中损失 {lost:.1f}，位于 GPU {gpus:、}（{rows:，}）"
    ),
    # check
    "pass": "通过",
    "WARN": "警告",
    "FAIL": "失败",
    "  {tool}, pid {pid}: {question}": "  {tool}，pid {pid}：{question}",
    "What counters that are always on cannot tell, and what can:": "常开计数器无法回答的问题，以及可以回答的工具：",
    # compare
    "time": "时间",
    "pipelines": "管线",
    "throughput": "吞吐",
    "roofs": "上限",
    "power": "功率",
    "pcie": "PCIe",
    "cpu": "CPU",
    "verdict": "结论",
    "lost to faults": "因问题损失",
    "  {label}": "  {label}",
    "{change:+7.1f} points": "{change:+7.1f} 个百分点",
    "where the GPU time went": "GPU 时间去向",
    "innermost functions of the threads that feed the GPU": "供数线程最内层的函数",
    # what differs
    "the chosen span against the rest": "所选时间段与其余时间对比",
    "cells weighted by their idle share": "各单元按空闲占比加权",
    "{sides}; too few alternations to test, so nothing is marked": "{sides}；交替次数太少，无法检验，因此没有标记",
    "{sides}; * more than chance (level {level:.0%} over all lists, {blocks} blocks of {cells} cells of 100 ms "
    "permuted)": (
        "{sides}；* 超出偶然范围（全部列表的显著性水平 {level:.0%}，对 {blocks} 个块、每块 {cells} 个 100 毫秒单元"
        "做置换检验）"
    ),
    "functions on the stack": "调用栈上的函数",
    "lines on the stack": "调用栈上的代码行",
    "threads on a CPU": "CPU 上的线程",
    "processes on a CPU": "CPU 上的进程",
    "metrics": "指标",
    "in gaps": "空闲间隙",
    "in the rest": "其余时间",
    "effect": "效应",
    "counts (gaps, rest)": "计数（间隙，其余）",
    "  {seconds:.1f} idle GPU-seconds fall under": "  {seconds:.1f} GPU 秒的空闲时间落在以下函数",
}
