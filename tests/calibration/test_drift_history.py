"""The history of checks is only ever appended to."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import calibration

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.calibration import LabelledItem
from judgeharness_integrations.analysis.calibration.drift import (
    History,
    append_history,
    drift,
    history_line,
    past_days,
    read_history,
)
from judgeharness_integrations.analysis.statistics.paired import tango_interval


def line(**changes: Any) -> dict[str, Any]:
    one = LabelledItem(case_id="c", criterion="verdict", gold="A", verdict="A", status="decided")
    report = drift(calibration(items=(one,), parts={"model": "m"}), [one], parts={"model": "n"})
    return history_line(report, judge="j", checked_at="2026-01-02T00:00:00+00:00") | changes


def test_a_check_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cal.history.jsonl"
    append_history(path, line())
    append_history(path, line(answer="drifted"))
    history = read_history(path)
    assert [check["answer"] for check in history.checks] == ["inconclusive", "drifted"]
    assert history.unreadable == 0
    first = history.checks[0]
    assert (first["checked_at"], first["judge"], first["changes"]) == ("2026-01-02T00:00:00+00:00", "j", ["model"])
    assert first["criteria"][0] | {} == {
        "criterion": "verdict",
        "answer": "inconclusive",
        "n": 1,
        "difference": 0.0,
        "low": pytest.approx(-0.793, abs=0.001),
        "high": pytest.approx(0.793, abs=0.001),
        "p_adjusted": 1.0,
        "minimum_detectable": None,
        "not_graded_now": 0,
        "evidence": None,
        "decisions": {"c": 0.0},
    }


def test_past_days_are_those_of_the_same_calibration_that_kept_their_decisions() -> None:
    old = calibration(items=(LabelledItem(case_id="c", criterion="verdict", gold="A", verdict="A", status="decided"),))
    mine = line()
    kept = mine["criteria"][0]
    scores = line(criteria=[7, {**kept, "decisions": {"c": None, "d": 2.5, "e": "text"}}])
    before = line(criteria=[{name: value for name, value in kept.items() if name != "decisions"}])
    history = History(checks=(mine, line(calibration="other"), before, line(calibrated_at="then"), scores))
    found = past_days(history, old)
    assert found == [{("c", "verdict"): 0.0}, {("c", "verdict"): math.inf, ("d", "verdict"): 2.5}]


def test_with_earlier_checks_the_evidence_of_all_decides() -> None:
    items = tuple(
        LabelledItem(case_id=f"c{n}", criterion="verdict", gold="A", verdict="A", status="decided") for n in range(40)
    )
    old = calibration(items=items)
    lost = tuple(replace(item, verdict="B") if n < 6 else item for n, item in enumerate(items))
    alone, first = (drift(old, lost, past=past).criteria["verdict"] for past in (None, ()))
    assert (alone.answer, alone.checks, alone.evidence_needed) == ("drifted", None, None)  # p .031
    assert (first.answer, first.checks, first.evidence_needed) == ("inconclusive", 1, 40.0)  # half of the level
    assert first.reason.endswith("and p 0.0312 is above 0.025")
    same = {(item.case_id, "verdict"): 0.0 for item in items}
    later = drift(old, lost, past=[same] * 20).criteria["verdict"]
    assert (later.answer, later.checks) == ("drifted", 21)
    assert later.reason.startswith("the evidence of 21 checks, ")
    assert later.reason.endswith(" to 1, is at least 40 to 1")
    quiet = drift(old, items, past=[same] * 20).criteria["verdict"]
    assert (quiet.evidence, quiet.varied, quiet.answer) == (pytest.approx(1.0), False, "stable")
    few = drift(old, (replace(items[0], verdict="B"), *items[1:9]), anchors=9, past=[same]).criteria["verdict"]
    assert few.answer == "inconclusive"
    assert "to 1, is below 40 to 1" in few.reason


def test_an_anchor_without_a_score_is_kept_as_such() -> None:
    items = tuple(
        LabelledItem(case_id=f"c{n}", criterion="verdict", gold=n, verdict=n, status="decided") for n in range(9)
    )
    now = (replace(items[0], verdict=None, status="abstained"), *items[1:])
    one = drift(calibration(items=items), now, past=()).criteria["verdict"]
    assert (one.decisions["c0"], one.decisions["c1"]) == (None, 0.0)


def test_without_a_file_there_were_no_checks(tmp_path: Path) -> None:
    assert read_history(tmp_path / "none.jsonl").checks == ()


def test_lines_that_cannot_be_read_stay_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    damaged = b'{"half": \n[]\n{"schema": "other/1"}\n\n\xff\xfe\n' + b"[" * 100_000 + b'\n{"criteria": 1, "sch'
    path.write_bytes(damaged)
    append_history(path, line())
    assert path.read_bytes().startswith(damaged + b"\n{")  # half a line is ended first
    append_history(path, line(criteria=7))
    history = read_history(path)
    assert (len(history.checks), history.unreadable) == (1, 7)


def test_half_an_emoji_is_kept(tmp_path: Path) -> None:
    append_history(tmp_path / "h.jsonl", line(judge="\ud83d"))
    assert read_history(tmp_path / "h.jsonl").checks[0]["judge"] == "\ud83d"


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written .*: give another --history"):
        append_history(tmp_path, line())
    path = tmp_path / "h.jsonl"
    path.write_text(json.dumps(line()))

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ConfigError, match=r"cannot be read \(Permission denied\): give another --history"):
        read_history(path)


def anchors(said: Any) -> tuple[LabelledItem, ...]:
    return tuple(
        LabelledItem(case_id=f"c{n}", criterion="verdict", gold="A", verdict="A" if right else "B", status="decided")
        for n, right in enumerate(said)
    )


def test_the_interval_of_all_days_together_is_wider_every_day() -> None:
    right = np.arange(50) > 5
    old, now = calibration(items=anchors(right), parts={"model": "m"}), anchors(np.roll(right, 3))
    assert drift(old, now).criteria["verdict"].always_low is None
    widths = []
    for days in (0, 1, 9):
        past = [{(f"c{n}", "verdict"): float(not one) for n, one in enumerate(right)}] * days
        found = drift(old, now, past=past).criteria["verdict"]
        assert found.always_low is not None
        assert found.always_high is not None
        assert found.low is not None
        assert found.always_low < found.low < 0
        widths.append(found.always_high - found.always_low)
    assert widths == sorted(widths)
    assert tango_interval(3, 3, 50, confidence=1 - 0.05 / 110) == pytest.approx((-widths[-1] / 2, widths[-1] / 2))


@pytest.mark.slow
def test_in_most_months_every_interval_of_all_days_together_holds() -> None:
    """A judge right on a case with a chance of its own, checked on 30 days: what is expected of it does not change."""
    rng = np.random.default_rng(5)
    chances = rng.beta(4, 1, (400, 1, 60))
    right = rng.random((400, 31, 60)) < chances
    better, worse = (right[:, 1:] & ~right[:, :1]).sum(axis=-1), (~right[:, 1:] & right[:, :1]).sum(axis=-1)
    interval = cache(lambda up, down, day: tango_interval(up, down, 60, confidence=1 - 0.05 / (day * (day + 1))))

    def holds(ups: list[int], downs: list[int]) -> bool:
        found = (interval(up, down, day) for day, (up, down) in enumerate(zip(ups, downs, strict=True), start=1))
        return all(low <= 0 <= high for low, high in found)

    kept = [holds(*month) for month in zip(better.tolist(), worse.tolist(), strict=True)]
    assert sum(kept) >= 0.95 * 400
