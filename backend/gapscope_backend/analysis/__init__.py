"""Pure functions from a Window to a verdict; needs numpy alone and does no I/O."""
