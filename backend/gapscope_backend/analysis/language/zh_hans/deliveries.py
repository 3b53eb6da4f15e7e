"""What stands in messages to channels, around what the alerts say."""

TEXTS = {
    "Firing: {rule}": "告警：{rule}",
    "Firing: {rule} on {host}": "告警：{rule}，主机 {host}",
    "Resolved: {rule}": "已恢复：{rule}",
    "Resolved: {rule} on {host}": "已恢复：{rule}，主机 {host}",
    "Test by Gapscope": "Gapscope 测试",
    "Gapscope is alive": "Gapscope 运行正常",
    "critical": "严重",
    "warning": "警告",
    "info": "提示",
    "Severity": "级别",
    "Began": "开始",
    "Over": "结束",
    "Cause": "原因",
    "{cause} (confidence {confidence:.0%})": "{cause}（置信度 {confidence:.0%}）",
    "{share:.0%} of the GPU time, {seconds:.1f} GPU-seconds: {cause}": (
        "GPU 时间的 {share:.0%}，{seconds:.1f} GPU 秒：{cause}"
    ),
    "and {count} more": "另有 {count} 条",
    "Open in Gapscope": "在 Gapscope 中打开",
    "Silence": "静默",
    "Alerts": "告警",
    "Where the GPU time went": "GPU 时间去向",
    "On the stack meanwhile": "其间的调用栈",
    "This is a test of the channel {channel}: messages of Gapscope arrive here.": (
        "这是对通知渠道 {channel} 的测试：Gapscope 的消息会发到这里。"
    ),
    "Gapscope works. This comes every {seconds} s, and stops when Gapscope does.": (
        "Gapscope 运行正常。本消息每 {seconds} 秒发送一次，Gapscope 停止时它也会停止。"
    ),
}
