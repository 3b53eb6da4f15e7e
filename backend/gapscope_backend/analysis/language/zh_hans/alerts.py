"""Alerts."""

from __future__ import annotations

TEXTS: dict[str, str] = {
    "{gpu!u} was active for {active:.0%} of the last {seconds:.0f} s, below {threshold:.0%}: {cause!l}.": (
        "{gpu}最近 {seconds:.0f} 秒的活跃时间占 {active:.0%}，低于 {threshold:.0%}：{cause}。"
    ),
    "not explained yet": "原因尚不明确",
    "{name!u} lost {share:.0%} of the last {seconds:.0f} s to one cause: {cause!l}.": (
        "{name}最近 {seconds:.0f} 秒中有 {share:.0%} 损失于同一原因：{cause}。"
    ),
    "{name!u} was idle for {share:.0%} of the last {seconds:.0f} s.": (
        "{name}最近 {seconds:.0f} 秒中有 {share:.0%} 的时间空闲。"
    ),
    "nothing in particular": "没有突出的原因",
    "{name!u} loses {value:.2f} an hour (limit {threshold:g}), mostly to: {cause!l}.": (
        "{name}每小时损失 {value:.2f}（上限 {threshold:g}），主要原因：{cause}。"
    ),
    "{name!u} loses {value:.0f} GPU-seconds an hour (limit {threshold:.0f}), mostly to: {cause!l}.": (
        "{name}每小时损失 {value:.0f} GPU 秒（上限 {threshold:.0f}），主要原因：{cause}。"
    ),
    "{gpu!u} has {share:.1%} of its memory in use (limit {limit:.0%}).": (
        "{gpu}的显存已用 {share:.1%}（上限 {limit:.0%}）。"
    ),
    "heat": "高温",
    "its power limit": "功率上限",
    "a hardware slowdown": "硬件降频",
    "an external power brake": "外部功率制动",
    "{gpu!u} is held down by {reason} for {share:.0%} of the time (limit {limit:.0%}).": (
        "{gpu}有 {share:.0%} 的时间因{reason}而降频（上限 {limit:.0%}）。"
    ),
    "The PCIe link of {gpu} runs at generation {generation} x{width}, its maximum is {best} x{lanes}.": (
        "{gpu}的 PCIe 链路运行在第 {generation} 代 x{width}，最高可达第 {best} 代 x{lanes}。"
    ),
    "{gpu!u} answers nothing any more, while its host goes on reporting.": "{gpu}已不再响应，而主机仍在上报数据。",
    "{gpu!u} had {count} uncorrected memory errors in the last {hours:g} h.": (
        "{gpu}最近 {hours:g} 小时出现 {count} 个不可纠正的显存错误。"
    ),
    "The driver reported an error of {gpu}: {text}.": "驱动报告{gpu}出错：{text}。",
    "{host} has sent nothing for {seconds:.0f} s.": "{host} 已有 {seconds:.0f} 秒没有发送数据。",
    "Over after {amount:.0f} s: {said}": "持续 {amount:.0f} 秒后已恢复：{said}",
    "{said} And {count} more.": "{said}另有 {count} 条。",
    "GPU active, last {minutes:.0f} min, 0-100 %": "GPU 活跃比例，最近 {minutes:.0f} 分钟，0-100 %",
    "{name}": "{name}",
}
