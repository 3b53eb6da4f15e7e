"""Recordings: a folder of readings that reads like a live host, written at the reading seam."""
