"""Handlers of the routes, one file a subject."""
