"""Hatch build hook: builds the page (page_build.py, which is beside this file) for wheels and editable installs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
# hatch loads this file without its folder on the path
from page_build import NODE_PACKAGE, build, machine_node


class PageBuildHook(BuildHookInterface[Any]):
    """Runs ``build`` for wheels and editable installs alike."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node from PyPI when the machine has none that will do."""
        return [] if machine_node() else [NODE_PACKAGE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the files of the wheel are collected."""
        frontend = Path(self.root) / "frontend"
        if (frontend / "package.json").is_file():
            build(frontend)
