"""Where the browser of the browser tests is. Run as a program it makes sure that there is one.

On Debian as root it installs the package ``chromium``; elsewhere it says what is missing and how to get it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str | None:
    """Path of a Chromium, or None; GAPSCOPE_CHROMIUM names one that has another name."""
    chosen = os.environ.get("GAPSCOPE_CHROMIUM")
    if chosen:
        return chosen
    return next((path for path in map(shutil.which, NAMES) if path), None)


def main() -> int:
    if find():
        return 0
    if Path("/etc/debian_version").exists() and os.geteuid() == 0:
        for step in (["apt-get", "update", "-q"], ["apt-get", "install", "-q", "-y", "chromium"]):
            if subprocess.run(step, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=False).returncode:
                sys.stderr.write(f"{' '.join(step)} failed; the browser tests need Chromium\n")
                return 1
        return 0 if find() else 1
    sys.stderr.write(
        "The browser tests need Chromium and found none on PATH.\n"
        "  Debian:  sudo apt-get install chromium\n"
        "  Fedora:  sudo dnf install chromium\n"
        "  other:   set GAPSCOPE_CHROMIUM=/path/to/chromium\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
