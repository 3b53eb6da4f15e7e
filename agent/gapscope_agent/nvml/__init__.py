"""NVML: one choke point for the driver, and the counters (GPM) that need pairs of snapshots."""
