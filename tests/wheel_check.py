"""Installs the built wheel alone in a fresh environment, imports every package and runs demo and self-test from it.

Usage: python tests/wheel_check.py DIST
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = [
    "judgeharness_integrations",
    *sorted(p.name for p in (ROOT / "adapters").iterdir() if p.is_dir() and p.name[0] != "_"),
]
IMPORTS = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    if name == "judgeharness_integrations":
        for module in pkgutil.walk_packages(package.__path__, name + "."):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:  # of an extra, or of pytest, in which its plugin runs
                if error.name not in ("libcst", "pytest", "starlette"):
                    raise
    print("imported", name, package.__file__)
    assert "site-packages" in package.__file__
"""


def _data_files() -> Iterator[Path]:
    """Yield the templates, prompts, styles, scripts, taxonomies and schemas of the package, as the wheel names them."""
    for path in (ROOT / "judgeharness_integrations").rglob("*"):
        if path.suffix in {".html", ".css", ".js", ".json", ".svg", ".txt", ".yaml"}:
            yield path.relative_to(ROOT)


def _run(command: list[str], folder: str, **options: Any) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, cwd=folder, env=environment, **options)  # noqa: S603 - our own build


def main(dist: Path) -> None:
    """Check the one wheel of `dist`."""
    (wheel,) = dist.glob("*.whl")
    held = zipfile.ZipFile(wheel).namelist()
    for package in PACKAGES:
        for needed in (f"{package}/__init__.py", f"{package}/py.typed"):
            if needed not in held:
                sys.exit(f"{wheel.name} lacks {needed}")
    lacking = sorted({*map(str, _data_files())} - set(held))
    if lacking:
        sys.exit(f"{wheel.name} lacks {', '.join(lacking)}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "env"
        venv.create(home, with_pip=True)
        python = str(home / "bin" / "python")
        _run([python, "-m", "pip", "install", "--quiet", str(wheel.resolve())], folder)
        _run([python, "-W", "error", "-c", IMPORTS, *PACKAGES], folder)
        for command in ("demo", "selftest"):  # the second needs numpy and scipy
            _run([str(home / "bin" / "judgeharness"), command], folder, stdout=subprocess.DEVNULL)
    sys.stdout.write(f"{wheel.name}: {len(held)} files, every package imports, demo and self-test run\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
