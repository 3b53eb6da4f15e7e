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
  stackWish: {
    ask: 'Take stacks',
    askHelp: (seconds: number) => `Ask the agent of this host for Python stacks, five times a second for ${seconds} s`,
    taking: (seconds: number) => `The agent takes stacks for ${seconds} s; they arrive within seconds.`,
    trouble: (reason: string) => `The agent was asked, but it says: ${reason}`,
    refused: (reason: string) => `Not asked: ${reason}`,
    refusals: {
      no_agent: "this host's agent is not connected.",
      not_logged_in: 'only who is logged in may ask.',
      recorded: 'this is a recording; there is no agent to ask.',
      unreachable: 'the server cannot be reached.',
      other: 'the server refused without a reason that this page knows.',
    },
  },
  laneStates: {
    missing: (reasons: string) => `Not measured here: ${reasons}.`,
    partial: (share: string, reasons: string) => (reasons ? `${share} missing: ${reasons}` : `${share} missing`),
    stale: (time: string) => `no data since ${time}`,
    reasons: {
      first_reading: 'a rate needs two readings',
      not_received: 'nothing was received',
      not_read: 'not read at this moment',
      not_reported: 'not reported by the system',
      no_number: 'the driver gave no number',
      implausible: 'the value was implausible',
      counter_reset: 'the counter began anew',
      too_soon: 'read too soon after the last time',
      no_sample: 'the driver had no sample',
      not_supported: 'not supported here',
    },
  },
  exports: {
    csvHelp: 'All samples of the visible or selected span as CSV',
    incident: 'Incident file',
    incidentHelp: (sentence: string) => `The open incident as one file that opens anywhere: ${sentence}`,
  },
}
