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
}
