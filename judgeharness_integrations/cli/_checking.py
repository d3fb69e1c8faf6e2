"""What `judgeharness adapters --check` adds: the conformance suite on every adapter."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from rich.console import Console

from judgeharness_integrations.adapters import Adapter
from judgeharness_integrations.cli._printing import safe, table

__all__ = ["checked", "print_checks"]

_LONGEST_DETAIL = 1_000


def checked(adapter: Adapter) -> dict[str, Any]:
    """Return whether an installed adapter passed, None when it brings no benches, and every check."""
    from judgeharness_integrations.testing import check_adapter  # noqa: PLC0415 - the suite is not needed to list

    with _quiet():
        try:
            report = check_adapter(adapter)
        except Exception as error:  # noqa: BLE001 - benches that cannot be built are a failure of this adapter alone
            detail = f"{type(error).__name__}: {error}"
            failed = {"bench": "", "check": "benches", "outcome": "fail", "detail": detail}
            return {"passed": False, "checks": [failed]}
    return {"passed": report.passed, "checks": [asdict(result) for result in report.results]}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep off the screen what frameworks say of answers that are meant to fail."""
    silent, root = logging.NullHandler(), logging.getLogger()
    root.addHandler(silent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(silent)


def print_checks(screen: Console, found: Sequence[dict[str, Any]]) -> None:
    """Print a line a bench, and a sentence for each check that failed or was opted out of."""
    rows = [row for facts in found for row in _rows(facts)]
    if rows:
        columns = ("adapter", "bench", "passed", "failed", "opted out")
        screen.print(table("conformance", columns, rows, texts=2))
    for facts in found:
        if facts["passed"] is None:
            why = "not ready" if not facts["ready"] else "every check opted out" if facts["checks"] else "no benches"
            screen.print(f"{facts['name']}: not checked, {why}", soft_wrap=True)
        for check in facts["checks"]:
            if check["outcome"] != "pass":
                parts = " · ".join(filter(None, (facts["name"], check["bench"], check["check"])))
                line = f"{check['outcome']}: {parts}: {check['detail']}"
                screen.print(safe(line, _LONGEST_DETAIL), soft_wrap=True)


def _rows(facts: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    benches = dict.fromkeys(check["bench"] for check in facts["checks"])
    for bench in benches:
        counts = Counter(check["outcome"] for check in facts["checks"] if check["bench"] == bench)
        numbers = (str(counts[outcome]) for outcome in ("pass", "fail", "opted out"))
        yield safe(facts["name"]), safe(bench or "-"), *numbers
