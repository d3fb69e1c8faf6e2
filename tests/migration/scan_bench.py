"""Sources in memory for the scanner's tests."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from textwrap import dedent

from judgeharness_integrations.migration.discovery import find_sites
from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.modules import ConfigSource, Source
from judgeharness_integrations.migration.rules import RULES
from judgeharness_integrations.migration.syntax import JudgeSite

CORPUS = Path(__file__).parents[1] / "data" / "single_call_judges"
EXPECTED = re.compile(r"# (?:expect|missed): ([JH0-9, ]+)")


def source_of(text: str) -> Source:
    return Source(path=Path("suite.py"), text=dedent(text).lstrip("\n"))


def sites_of(text: str) -> tuple[JudgeSite, ...]:
    return find_sites(source_of(text))


def config_of(text: str, path: Path = Path("nowhere/test_config.json")) -> ConfigSource:
    return ConfigSource(path=path, text=text)


def found_in(text: str, code: str) -> list[int]:
    """The lines on which a rule finds something, the first line of the text being 1."""
    inspection = Inspection(source_of(text))
    return sorted(finding.line for finding in RULES[code].findings(inspection))


def expected_in(text: str) -> Counter[tuple[int, str]]:
    """(line, code) of every expectation in a Python file; what is marked as missed is expected too."""
    return Counter(
        (number, code.strip())
        for number, line in enumerate(text.split("\n"), 1)
        for found in EXPECTED.finditer(line)
        for code in found[1].split(",")
    )
