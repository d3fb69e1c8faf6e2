"""README's first commands to the letter, their install lines included, where nothing of the project is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def commands(after: str) -> list[str]:
    """Return the lines of the first block of commands after a text of README."""
    _, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition(after)
    block = re.search(r"^```bash\n(.*?)^```", rest, re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1].splitlines()


def clone(folder: Path) -> None:
    """Copy what a clone has: the files git knows, as they are now."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("which files a clone has is known in one")
    listing = [git, "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout  # noqa: S603 - git's own list
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a shell does, outside of this test session and of its environment; pip is as it is configured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "COV"))}
    kept |= {"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder.parent)}
    ours = Path(getattr(sys, "_base_executable", sys.executable)).parent  # python3 may be too old elsewhere
    kept["PATH"] = os.pathsep.join([str(folder / ".venv" / "bin"), str(ours), os.environ["PATH"]])
    kept["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return subprocess.run(  # noqa: S603 - README's own line
        ["/bin/sh", "-c", line], cwd=folder, env=kept, capture_output=True, text=True, check=False, timeout=600
    )


def test_the_first_line_and_the_five_commands_run_as_they_stand(tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    clone(folder)
    (demo,) = commands("calls no model:")
    install, scan, migrate, measure, report = commands("in five commands")

    shown = run(demo, folder)
    assert shown.returncode == 0, shown.stderr
    assert "GPT-4 changes its verdict in 3.6 % of 419 pairs" in shown.stdout

    for line in commands("a scripted judge"):
        done = run(line, folder)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert (folder / "report.html").exists()

    installed = run(install, folder)  # in the environment of the line above
    assert installed.returncode == 0, installed.stderr
    found = run(scan, folder)
    assert (found.returncode, found.stderr) == (1, "")
    assert "test_answers.py:7:" in found.stdout
    moved = run(migrate, folder)
    assert moved.returncode == 0, moved.stderr
    measured = run(measure, folder)
    assert "4 failed, 2 passed" in measured.stdout, measured.stdout + measured.stderr
    written = run(report, folder)
    assert written.returncode == 0, written.stderr
    assert "What is the capital of Peru?" in (folder / "report.html").read_text(encoding="utf-8")
