/** English words of the timeline's tools: moving, folding and pinning lanes, states of lanes, requests to the agent, files. */

export const EN_TIMELINE = {
  laneTools: {
    move: (lane: string) => `Move ${lane}`,
    moveHelp: 'Drag to move; arrow keys do too',
    pin: (lane: string) => `Pin ${lane}`,
    pinHelp: 'Keep in sight above the others (p)',
    unpinHelp: 'Back to its place (p)',
    fold: (lane: string) => `Show ${lane}`,
    foldHelp: 'Fold this lane',
    openHelp: 'Open this lane',
  },
}
