/** Types of shares, as in backend/gapscope_backend/api/share_schema.py. */

export type ShareState = 'live' | 'expired' | 'revoked'

export interface ShareInfo {
  id: string
  host: string
  /** Null for a span. */
  incident: string | null
  start: string
  end: string
  public: boolean
  state: ShareState
  made: string
  made_by: string
  expires: string
  revoked: string | null
  size_bytes: number
}

/** A new share; its link is told this once. */
export interface ShareMade {
  share: ShareInfo
  link: string
  path: string
}

/** What a link shows. */
export interface ShareView {
  host: string
  incident: string | null
  start: string
  end: string
  first_data: string
  last_data: string
  /** The query with which the page opens. */
  view: string
  public: boolean
  made: string
  made_by: string | null
  expires: string
}

/** What to share: an incident, or a span of a host in milliseconds. */
export type ShareSubject = { incident: string } | { host: string; from: string; to: string }

export interface ShareWish {
  view: string
  public: boolean
  days: number
}
