"""Compressed series as rows of the database: what is in a chunk, how it is written, how chunks become one another.

Pure functions over arrays; nothing here knows the database.
"""
