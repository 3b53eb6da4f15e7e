"""The command `gapscope`: the only place that knows both the agent and the backend."""
