"""What gates said: the answer, those that did not pass first, and a sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.sections import Block, Section, Strong, Table

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.gates.report import GateCheck, GateReport

_WORDS: Final = {"passed": "passed", "failed": Strong("FAILED"), "not_measured": Strong("NOT MEASURED")}


def gates_section(gates: GateReport, *, of_run: bool = False) -> Section:
    """Return every check with its sentence; `of_run`: what the run said at its end, nothing was checked now."""
    failed = sum(check.status != "passed" for check in gates.checks)
    answer = "every gate passed" if gates.passed else f"{failed} of {len(gates.checks)} gate checks did not pass"
    return Section(
        title=f"gates{' of the run, as they were at its end' if of_run else ''}: {answer}",
        blocks=tuple(_blocks(gates)),
    )


def _blocks(gates: GateReport) -> Iterator[Block]:
    ordered = sorted(gates.checks, key=lambda check: check.status == "passed")
    yield Table.of(gates.basis, ("gate", "of", "status"), map(_row, ordered), texts=3)
    for check in ordered:
        where = f" ({check.about})" if len(gates.checks) > 1 else ""
        yield f"{check.gate}{where}: {check.reason.removeprefix(_name(check))}"
    if gates.price:
        yield gates.price


_NAME: Final = re.compile(r"[a-z_]+(?:\([^)]*\))?")


def _name(check: GateCheck) -> str:
    """Return the metric as reasons begin with it: the gate before it names it already."""
    found = _NAME.match(check.gate)
    return "" if found is None else f"{found[0]} "


def _row(check: GateCheck) -> tuple[str, str, str]:
    return check.gate, check.about, _WORDS[check.status]
