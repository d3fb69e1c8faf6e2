"""What commands are given: a folder with judges, cases and a configuration."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

JUDGES = """
import asyncio

def good(case):
    return "A" if "good" in case.output else "B"

def first(case):
    return "A"

async def broken(case):
    raise ValueError("nobody home")

def broken_on_second(case):
    if case.case_id == "c2":
        raise ValueError("nobody home")
    return good(case)

async def slow(case):
    if case.case_id == "c3":
        await asyncio.sleep(60)
    return good(case)

def score(case):
    return {"tone": 4, "facts": 5}

def first_row(rows):
    return rows[0].verdict
"""
CASES = """case_id,input,output,output_b,gold
c1,q1,good,bad,A
c2,q2,bad,good,B
c3,q3,good one,bad one,A
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with judges, three pairs, and `write_config`."""
    (tmp_path / "cli_judges.py").write_text(JUDGES)
    (tmp_path / "cases.csv").write_text(CASES)
    yield tmp_path
    sys.modules.pop("cli_judges", None)


@pytest.fixture
def asked(folder: Path, request: pytest.FixtureRequest) -> Callable[[], int]:
    """Counts the calls so far, in this process and in others, of the judges in the module's COUNTING."""
    (folder / "cli_judges.py").write_text(request.module.COUNTING)

    def count() -> int:
        path = folder / "asked"
        return path.read_text().count("\n") if path.exists() else 0

    return count


@pytest.fixture
def configure(folder: Path) -> Callable[..., Path]:
    def write(*judges: str, name: str = "run.json", **changes: Any) -> Path:
        config: dict[str, Any] = {
            "judges": [{"name": judge, "callable": f"cli_judges:{judge}"} for judge in judges],
            "cases": "cases.csv",
            "harness": {
                "perturbations": ["none", "position_swap"],
                "repetitions": 1,
                "aggregation_rule": "swap_consensus",
            },
        }
        path = folder / name
        path.write_text(json.dumps(config | changes))
        return path

    return write
