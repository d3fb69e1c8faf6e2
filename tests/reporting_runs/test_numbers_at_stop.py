"""What a run that its own gates stopped keeps of its numbers, and lines that are kept compressed."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from judgeharness_integrations.analysis.gates.gate import REQUIRE_CALIBRATION, GateCheck, GateReport
from judgeharness_integrations.analysis.runs.building import _at_stop, _gated, last_looks
from judgeharness_integrations.verdictlog.runfolder import opened_lines


def check(gate: str, **facts: Any) -> GateCheck:
    given: dict[str, Any] = {"value": 0.8, "n": 10, "low": 0.5, "high": 0.95, "status": "passed", "reason": "so"}
    return GateCheck(gate=gate, judge="j", criterion="c", **(given | facts))


def test_a_gate_on_no_metric_is_no_look() -> None:
    gates = GateReport(checks=(check(REQUIRE_CALIBRATION), check("accuracy>=0.7")), sequential="suite", stopped=True)
    assert list(last_looks(gates, "j", "c")) == ["accuracy"]


@pytest.mark.parametrize("gate", ["kappa>=0.5", "lift>=0"])
def test_a_number_that_a_summary_does_not_hold_stays_as_it_is(gate: str) -> None:
    summary: Any = SimpleNamespace(judge="j", criterion="c", replay=SimpleNamespace(not_graded=0, abstained=0))
    assert _at_stop(summary, GateReport(checks=(check(gate),), sequential="suite", stopped=True)) == (summary, "")


@pytest.mark.parametrize(("gate", "abstained", "kept"), [("abstention<=0.5", 3, False), ("rate(X)<=0.9", 3, True)])
def test_what_counts_against_a_gate_is_no_number_of_the_summary(gate: str, abstained: int, kept: bool) -> None:  # noqa: FBT001 - a case of the table
    summary: Any = SimpleNamespace(replay=SimpleNamespace(not_graded=0, abstained=abstained), positive=None, shares={})
    assert (_gated(summary, check(gate)) == {}) is kept


def test_a_mean_score_keeps_the_sequence_of_its_gate() -> None:
    summary: Any = SimpleNamespace(judge="j", criterion="c")
    found = _gated(summary, check("mean_score>=3", value=3.5, low=3.1, high=3.9))["mean_score"]
    assert (found.value, found.low, found.high, found.n) == (3.5, 3.1, 3.9, 10)


def test_compressed_lines_are_read_as_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(gzip.compress(b"one\n"))
    with opened_lines(path) as lines:
        assert list(lines) == ["one\n"]
