"""Alerts: rules, what holds and since when, who is told; below the services, above the store."""
