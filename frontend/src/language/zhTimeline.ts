/** Simplified Chinese words of the timeline's tools. */

import type { EN_TIMELINE } from '@/language/enTimeline'

export const ZH_TIMELINE: typeof EN_TIMELINE = {
  laneTools: {
    move: (lane) => `移动 ${lane}`,
    moveHelp: '拖动以移动；也可用方向键',
    pin: (lane) => `固定 ${lane}`,
    pinHelp: '固定在其他泳道之上（p）',
    unpinHelp: '放回原处（p）',
    fold: (lane) => `显示 ${lane}`,
    foldHelp: '收起此泳道',
    openHelp: '展开此泳道',
  },
  stackWish: {
    ask: '采集调用栈',
    askHelp: (seconds) => `请求此主机的 agent 采集 ${seconds} 秒 Python 调用栈，每秒五次`,
    taking: (seconds) => `agent 正在采集 ${seconds} 秒调用栈；几秒内到达。`,
    trouble: (reason) => `已请求 agent，但它报告：${reason}`,
    refused: (reason) => `未请求：${reason}`,
    refusals: {
      no_agent: '此主机的 agent 未连接。',
      not_logged_in: '只有已登录的人可以请求。',
      recorded: '这是录制数据，没有可请求的 agent。',
      unreachable: '无法连接服务器。',
      other: '服务器拒绝了，原因未知。',
    },
  },
  laneStates: {
    missing: (reasons) => `此处未测得：${reasons}。`,
    partial: (share, reasons) => (reasons ? `缺失 ${share}：${reasons}` : `缺失 ${share}`),
    stale: (time) => `${time} 之后没有数据`,
    reasons: {
      first_reading: '速率需要两次读数',
      not_received: '没有收到数据',
      not_read: '此刻未读取',
      not_reported: '系统未提供',
      no_number: '驱动未给出数值',
      implausible: '数值不合理',
      counter_reset: '计数器已重新开始',
      too_soon: '距上次读取太近',
      no_sample: '驱动没有样本',
      not_supported: '此处不支持',
    },
  },
  exports: {
    csvHelp: '可见或所选时间段的全部样本，CSV 格式',
    incident: '事件文件',
    incidentHelp: (sentence) => `未关闭的事件，导出为可在任何地方打开的单个文件：${sentence}`,
  },
}
