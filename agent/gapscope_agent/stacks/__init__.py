"""Python stacks of the processes that hold a GPU and of those that feed them; docs/stacks.md says what it costs."""
