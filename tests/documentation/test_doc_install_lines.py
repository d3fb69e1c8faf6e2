"""What people are told to install: from the source, while no package index carries this package's name."""

from __future__ import annotations

import re
from pathlib import Path

from judgeharness_integrations._errors import NotInstalledError

ROOT = Path(__file__).parents[2]
READ = ("README.md", "CONTRIBUTING.md", "pyproject.toml", "docs", "examples", "adapters", "judgeharness_integrations")
# anybody could register the name, and would then be installed
BY_NAME = re.compile(r"\b(?:pip|pipx|uv)3? (?:add|install|tool install)\b[^\n`;&|#]*?[ '\"]judgeharness[\w-]*(?:\[|\b)")


def texts() -> dict[Path, str]:
    """Return every text that people may read, by file."""
    found = {}
    for name in READ:
        place = ROOT / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                try:
                    found[path] = path.read_text(encoding="utf-8")
                except UnicodeDecodeError:  # a picture, an archive
                    continue
    return found


def test_nobody_is_told_to_install_this_package_by_its_name() -> None:
    read = texts()
    assert len(read) > 100
    told = [f"{path.relative_to(ROOT)}: {line}" for path, text in read.items() for line in BY_NAME.findall(text)]
    assert told == []


def test_the_search_knows_a_name_from_a_folder() -> None:
    for line in (
        "pip install 'judgeharness-integrations[adk]'",
        'run: pip install -U "judgeharness_integrations"',
        "uv add judgeharness-integrations",
        "pip install langchain-openai judgeharness",
    ):
        assert BY_NAME.search(line), line
    for line in ("pip install '.[adk]' # judgeharness", "pip install './judgeharness-integrations[adk]'"):
        assert not BY_NAME.search(line), line


def test_every_missing_extra_is_told_with_the_line_that_installs_it() -> None:
    assert NotInstalledError.command("adk") == "pip install '.[adk]'"
    assert NotInstalledError.command("adk") in str(NotInstalledError("google-adk", "adk"))
