"""Every lane of `lanes.toml`, in an environment of its own: `python tests/matrix/run.py [--lane NAME] [--write]`.

It prints the compatibility table as Markdown and, with `--json PATH`, writes what it found as JSON; `--write` puts the
table into the page of the documentation. The exit code is 1 when a lane fails or cannot be installed. `uv` is used
where it is on the path, `venv` and `pip` where it is not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["LANES", "PAGE", "Lane", "Outcome", "main", "page_with", "table"]

ROOT = Path(__file__).resolve().parents[2]
LANES = ROOT / "tests" / "matrix" / "lanes.toml"
PAGE = ROOT / "docs" / "reference" / "frameworks.md"
SUPPORT = ("aiohttp", "zstandard")  # what the loopback servers are made of
_BEGIN, _END = "<!-- lanes -->", "<!-- end of lanes -->"
_SHOWN = ("langchain-core", "langchain-classic", "langchain-openai", "openevals", "langsmith", "google-adk", "openai")
_SECONDS = 900
_VERSIONS = "import json, sys; from importlib.metadata import distributions; \
json.dump({d.metadata['Name'].lower(): d.version for d in distributions()}, sys.stdout)"


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One environment; the keys are explained in `lanes.toml`."""

    name: str
    framework: str
    extra: str
    pins: tuple[str, ...]
    besides: tuple[str, ...] = ()
    no_deps: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    @property
    def versions(self) -> dict[str, str]:
        """Distribution -> the version that is asked for."""
        pinned = (pin.split("==") for pin in (*self.pins, *self.no_deps))
        return {name: version for name, version in pinned}  # noqa: C416 - a pair is a list here


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a lane: `works`, `fails` or `not installable`; `versions` is what was installed."""

    lane: str
    framework: str
    state: str
    versions: dict[str, str]
    seconds: float
    why: str = ""


def read_lanes(names: Sequence[str] = ()) -> list[Lane]:
    """Return the lanes, or those of these names."""
    found = [
        Lane(**{key: tuple(value) if isinstance(value, list) else value for key, value in lane.items()})
        for lane in tomllib.loads(LANES.read_text("utf-8"))["lane"]
    ]
    if unknown := set(names) - {lane.name for lane in found}:
        sys.exit(f"no lane {', '.join(sorted(unknown))}: there are {', '.join(lane.name for lane in found)}.")
    return [lane for lane in found if not names or lane.name in names]


class Environment:
    """A fresh environment in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.uv = folder, shutil.which("uv")
        self.python = folder / "bin" / "python"
        if self.uv:
            _called([self.uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
        else:
            venv.create(folder, with_pip=True)

    def install(self, *packages: str) -> None:
        """Install packages, or options and packages."""
        if self.uv:
            _called([self.uv, "pip", "install", "--quiet", "--python", str(self.python), *packages])
        else:
            _called([str(self.python), "-m", "pip", "install", "--quiet", *packages])

    def uninstall(self, *packages: str) -> None:
        """Take packages out."""
        tool = [self.uv, "pip", "uninstall", "--python", str(self.python)] if self.uv else []
        _called([*(tool or [str(self.python), "-m", "pip", "uninstall", "--yes"]), *packages])

    def versions(self) -> dict[str, str]:
        """Return every distribution's version."""
        found: dict[str, str] = json.loads(_called([str(self.python), "-c", _VERSIONS]))
        return found


def _called(command: Sequence[str], **settings: str) -> str:
    """Run a command; return what it printed.

    Raises:
        subprocess.CalledProcessError: it failed; what it said was printed.

    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV_", "PYTHON"))}
    done = subprocess.run(  # noqa: S603 - our own commands
        [*command], env=kept | settings, cwd=tempfile.gettempdir(), capture_output=True, text=True, timeout=_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        done.check_returncode()
    return done.stdout


def run_lane(lane: Lane, wheel: Path, folder: Path) -> Outcome:
    """Install a lane and run its smoke."""
    began, versions = time.monotonic(), {}

    def outcome(state: str, why: str = "") -> Outcome:
        seconds = round(time.monotonic() - began, 1)
        return Outcome(
            lane=lane.name, framework=lane.framework, state=state, versions=versions, seconds=seconds, why=why
        )

    try:
        environment = Environment(folder)
        environment.install(f"{wheel}[{lane.extra}]", *lane.pins, *lane.besides, *SUPPORT)
        if lane.no_deps:
            environment.install("--no-deps", *lane.no_deps)
        if lane.without:
            environment.uninstall(*lane.without)
        versions = environment.versions()
    except subprocess.TimeoutExpired:
        return outcome("fails", f"its installation did not end in {_SECONDS} s")
    except (subprocess.SubprocessError, OSError):
        return outcome(
            "not installable", f"the package index has no such set: {', '.join((*lane.pins, *lane.no_deps))}"
        )
    if other := {name: versions.get(name) for name, asked in lane.versions.items() if versions.get(name) != asked}:
        return outcome("not installable", f"installed were {other}")
    try:
        smokes = str(LANES.with_name("smokes.py"))
        _called([str(environment.python), smokes, lane.framework], PYTHONPATH=str(ROOT / "tests"))
    except subprocess.TimeoutExpired:
        return outcome("fails", f"it did not end in {_SECONDS} s")
    except subprocess.CalledProcessError as error:
        return outcome("fails", ((error.stderr or error.stdout).strip().splitlines() or ["without a word"])[-1])
    return outcome("works")


def table(outcomes: Sequence[Outcome], date: str, python: str) -> str:
    """Return the compatibility table as Markdown."""
    rows = [f"Run on {date} with Python {python}:", "", "| lane | versions | |", "|---|---|---|"]
    for one in outcomes:
        shown = ", ".join(f"{name} {one.versions[name]}" for name in _SHOWN if name in one.versions)
        rows.append(f"| {one.lane} | {shown or 'none'} | {one.state} |")
    return "\n".join(rows)


def page_with(page: str, text: str) -> str:
    """Return the page of the documentation with another table."""
    return re.sub(f"{_BEGIN}.*{_END}", lambda _: f"{_BEGIN}\n{text}\n{_END}", page, flags=re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lanes, one after the other; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lane", action="append", default=[], help="only this lane; may be repeated")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reference/frameworks.md")
    given = parser.parse_args(arguments)
    lanes, outcomes = read_lanes(given.lane), []
    with tempfile.TemporaryDirectory(prefix="lanes-") as folder:
        maker = Environment(Path(folder) / "build")
        maker.install("build", "hatchling")
        _called([str(maker.python), "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, str(ROOT)])
        (wheel,) = Path(folder).glob("*.whl")
        for lane in lanes:
            home = Path(folder) / lane.name
            outcomes.append(one := run_lane(lane, wheel, home))
            sys.stderr.write(f"{one.lane}: {one.state} ({one.seconds} s){': ' if one.why else ''}{one.why}\n")
            shutil.rmtree(home, ignore_errors=True)
    date, python = datetime.now(UTC).date().isoformat(), platform.python_version()
    text = table(outcomes, date, python)
    sys.stdout.write(f"{text}\n")
    found = {"date": date, "python": python, "lanes": [asdict(one) for one in outcomes]}
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    if given.write:
        PAGE.write_text(page_with(PAGE.read_text("utf-8"), text), "utf-8")
    return int(any(one.state != "works" for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
