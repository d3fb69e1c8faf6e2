from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = [pytest.param(*match.groups(), id=f"block {n}") for n, match in enumerate(BLOCK.finditer(PAGE))]


def test_every_block_says_what_it_prints() -> None:
    assert len(BLOCKS) == PAGE.count("```python\n") == 3


@pytest.mark.parametrize(("source", "expected"), BLOCKS)
def test_a_block_runs_as_it_stands(source: str, expected: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "CONTRIBUTING.md", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own page
    assert printed.getvalue() == expected


@pytest.mark.parametrize(("source", "expected"), BLOCKS)
def test_a_block_is_short_and_holds_its_conformance_check(source: str, expected: str) -> None:
    assert len(source.splitlines()) < 60
    assert max(map(len, source.splitlines())) <= 120
    assert re.search(r"^(?:report = )?check_(?:perturbation|rule|adapter)\(", source, re.MULTILINE)
    assert expected.strip()


def test_every_file_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:judgeharness_integrations|tests|docs|\.ci)/[\w./-]+)`", PAGE))
    named |= set(re.findall(r"\]\((docs/[\w./-]+)\)", PAGE))
    assert len(named) >= 6
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    inside = set(re.findall(r"`((?:aggregation|perturbations|reporting)/[\w./]+)`", PAGE))
    assert [name for name in sorted(inside) if not (ROOT / "judgeharness_integrations" / name).exists()] == []
