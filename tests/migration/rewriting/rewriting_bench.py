"""Rewrites a text as the command would, and does it twice: the second time changes nothing."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from textwrap import dedent

from judgeharness_integrations.migration.modules import Source
from judgeharness_integrations.migration.rewriting import rewritten
from judgeharness_integrations.migration.rewriting.changes import Level, Rewrite

__all__ = ["after", "rewrite"]


@cache
def rewrite(text: str, level: Level = "single") -> Rewrite:
    found = rewritten(Source(path=Path("suite.py"), text=text), level)
    assert found.before == text
    ast.parse(found.after)
    again = rewritten(Source(path=Path("suite.py"), text=found.after), level)
    assert again.after == found.after
    assert not again.changes
    return found


def after(text: str, level: Level = "single") -> str:
    return rewrite(dedent(text), level).after
