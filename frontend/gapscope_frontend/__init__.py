"""Data package with the built page under static/."""
