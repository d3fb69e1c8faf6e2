"""Several candidates on one label set: counted beside it, and intervals and tests that hold for the one chosen."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import calibration

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.calibration import (
    CalibrationReport,
    Judged,
    LabelledItem,
    Rate,
    measure_calibration,
)
from judgeharness_integrations.analysis.calibration.candidates import (
    Look,
    add_look,
    candidate_of_items,
    candidate_of_parts,
    digest_of_labels,
    ledger_path,
    ledger_path_of_log,
    read_ledger,
)
from judgeharness_integrations.analysis.calibration.drift import drift
from judgeharness_integrations.analysis.calibration.items import (
    Part,
    cases_of_part,
    simultaneous_alpha,
    simultaneous_level,
)
from judgeharness_integrations.analysis.statistics.proportions import sign_test, wilson
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.reporting.calibrationtext import calibration_section
from judgeharness_integrations.reporting.terminal import section_lines

STUDIES = 4000


def look(candidate: str = "one", labels: str = "set", part: Part | None = None) -> Look:
    return Look(labels=labels, candidate=candidate, part=part or Part(), looked_at="2026-01-01T00:00:00+00:00")


def test_distinct_candidates_are_counted_once_and_by_label_set(tmp_path: Path) -> None:
    path = tmp_path / "gold.candidates.jsonl"
    assert read_ledger(path).looks == ()
    for one in (look("one"), look("two"), look("one"), look("three", labels="other")):
        ledger = add_look(path, one)
    assert len(path.read_text().splitlines()) == 3
    assert ledger.candidates("set", Part()) == {"one", "two"}
    assert (ledger.others("set"), ledger.others("other")) == (1, 2)
    assert set(json.loads(path.read_text().splitlines()[0])) == {
        *("schema", "labels", "candidate", "part", "holdout", "looked_at"),
    }


def test_lines_that_cannot_be_read_stay_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "gold.candidates.jsonl"
    odd = ["{", "[1]", '{"schema": "other/1"}', json.dumps(look().to_dict() | {"part": "held_back"}), "{}"]
    path.write_text("\n".join(odd))
    ledger = add_look(path, look())
    assert (len(ledger.looks), ledger.unreadable) == (1, 5)
    assert path.read_text().startswith("{\n[1]\n")


def test_a_ledger_that_cannot_be_read_or_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be written .*: give another --ledger"):
        add_look(tmp_path / "file" / "ledger.jsonl", look())
    path = tmp_path / "ledger.jsonl"
    path.write_text("")

    def unreadable(*_: Any, **__: Any) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", unreadable)
    with pytest.raises(ConfigError, match=r"cannot be read \(Permission denied\): give another --ledger"):
        read_ledger(path)


def write_looks(path: Path, name: str) -> None:
    for n in range(40):
        add_look(path, look(f"{name}{n}"))


@pytest.mark.slow
def test_two_processes_lose_no_candidate(tmp_path: Path) -> None:
    path = tmp_path / "gold.candidates.jsonl"
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=write_looks, args=(path, name)) for name in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join()
    ledger = read_ledger(path)
    assert (len(ledger.candidates("set", Part())), ledger.unreadable) == (80, 0)


def test_the_ledger_stands_beside_the_labels() -> None:
    assert ledger_path(Path("a/gold.csv.gz")) == Path("a/gold.candidates.jsonl")
    assert ledger_path_of_log(Path("runs/first")) == Path("runs/candidates.jsonl")
    assert ledger_path_of_log(Path()) == Path.cwd().with_name("candidates.jsonl")
    assert ledger_path(Path("a/.gold")) == Path("a/.gold.candidates.jsonl")


def test_what_makes_a_candidate_and_a_label_set() -> None:
    golds: dict[str, Any] = {"a": {"": "PASS"}, "b": {"": frozenset("xy")}}
    assert digest_of_labels(golds) == digest_of_labels(dict(reversed(golds.items())))
    assert digest_of_labels(golds) != digest_of_labels(golds | {"a": {"": "FAIL"}})
    told = [digest_of_labels({"c": {"verdict": word}}) for word in ("PASS", "pass", "Yes", "1", "TIE", "tie", "good")]
    assert len(set(told)) == 4
    assert (told[0], told[4]) == (told[1], told[5])
    assert told[0] == told[2] != told[3]
    assert digest_of_labels(golds) == digest_of_labels({"a": {"v": "PASS"}, "b": {"v": frozenset("xy")}})
    several = [{"a": {"v": "PASS"}, "b": {name: "PASS"}} for name in "wx"]
    assert digest_of_labels(several[0]) != digest_of_labels(several[1])
    item = LabelledItem(case_id="a", criterion="verdict", gold="PASS", verdict="PASS", status="decided")
    other = replace(item, verdict="FAIL")
    found = {
        candidate_of_items("judge", "majority", [item]),
        candidate_of_items("judge", "strict_majority", [item]),
        candidate_of_items("judge 2", "majority", [item]),
        candidate_of_items("judge", "majority", [other]),
        candidate_of_parts({"prompt": "secret"}),
        candidate_of_parts({"prompt": "other"}),
    }
    assert len(found) == 6
    assert candidate_of_items("j", "r", [item, other]) == candidate_of_items("j", "r", [other, item])
    assert "secret" not in str(found)


def test_held_back_cases_are_the_same_for_all_and_clusters_stay_together() -> None:
    ids = [f"c{n}" for n in range(100)]
    held, rest = (cases_of_part(Part(name=name, holdout=0.3), ids) for name in ("held_back", "choosing"))
    assert (len(held), len(rest), held & rest, held | rest) == (30, 70, set(), set(ids))
    assert held == cases_of_part(Part(name="held_back", holdout=0.3), reversed(ids))
    assert held < cases_of_part(Part(name="held_back", holdout=0.6), ids)
    assert held != cases_of_part(Part(name="held_back", holdout=0.3), ids, seed=1)
    clusters = {one: f"d{n // 10}" for n, one in enumerate(ids)}
    together = cases_of_part(Part(name="held_back", holdout=0.5), ids, clusters)
    assert len(together) == 50
    assert len({clusters[one] for one in together}) == 5
    assert cases_of_part(Part(), ids) == set(ids)
    assert len(cases_of_part(Part(name="held_back", holdout=0.01), ids)) == 1
    assert len(cases_of_part(Part(name="choosing", holdout=0.999), ids)) == 1
    with pytest.raises(UsageError, match="cannot be split"):
        cases_of_part(Part(name="choosing", holdout=0.5), ["c1", "c1"])


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 7.0])
def test_a_share_leaves_two_parts(share: float) -> None:
    with pytest.raises(UsageError, match="--holdout is the share"):
        Part(name="choosing", holdout=share)
    with pytest.raises(UsageError, match="give --holdout SHARE"):
        Part(name="held_back")


def test_a_look_at_the_other_part_is_no_look_at_this_one(tmp_path: Path) -> None:
    path = tmp_path / "gold.candidates.jsonl"
    choosing, held = (Part(name=name, holdout=0.5) for name in ("choosing", "held_back"))
    for n in range(20):
        ledger = add_look(path, look(f"c{n}", part=choosing))
    assert (len(ledger.candidates("set", choosing)), len(ledger.candidates("set", held))) == (20, 0)
    ledger = add_look(path, look("c3", part=held))
    assert len(ledger.candidates("set", held)) == 1
    ledger = add_look(path, look("c4", part=held))  # a second look, by another candidate
    assert len(ledger.candidates("set", held)) == 2
    assert len(ledger.candidates("set", Part())) == 20
    assert len(ledger.candidates("set", Part(name="held_back", holdout=0.6))) == 20  # which holds cases chosen on
    assert len(add_look(path, look("whole")).candidates("set", held)) == 3


def judged(hits: int, n: int) -> list[Judged]:
    rest = [("FAIL", "PASS")] * (n - hits) + [("FAIL", "FAIL")] * 20 + [("PASS", "FAIL")] * 8
    pairs = [("PASS", "PASS")] * hits + rest
    return [
        Judged(
            gold=gold,
            verdict=said,
            status="decided",
            confidence=0.5 + place % 2 / 2,
            cluster=None if n > 60 else str(place // 2),
        )
        for place, (gold, said) in enumerate(pairs)
    ]


@pytest.mark.parametrize("n", [50, 100])
def test_intervals_of_one_of_many_are_at_sidaks_level_and_the_plain_ones_stand_beside(n: int) -> None:
    one, best = (measure_calibration(judged(40, n), candidates=k) for k in (1, 20))
    assert one.plain == {}
    for name in ("precision", "recall", "specificity", "accuracy", "balanced_accuracy", "kappa"):
        before, after = getattr(one, name), getattr(best, name)
        assert best.plain[name] == (before.low, before.high)
        assert after.low < before.low < before.high < after.high
    for name in ("ac1", "macro_f1"):
        assert getattr(best, name).low < getattr(one, name).low
    wide, narrow = (found.controls.listed for found in (best, one) if found.controls is not None)
    for after, before in zip(wide[:2], narrow[:2], strict=True):  # the constant and the coin
        assert after.advantage.low < before.advantage.low < before.advantage.high < after.advantage.high
    assert best.lift == wide[0].advantage
    for after, before in zip(best.risk_coverage.points, one.risk_coverage.points, strict=True):
        assert after.low < before.low < before.high < after.high
    assert best.per_class["PASS"].precision == best.precision
    if n == 100:
        assert best.precision is not None
        assert (best.precision.low, best.precision.high) == wilson(40, 100, confidence=0.95 ** (1 / 20))


def test_scores_and_perfect_agreement_know_candidates_too() -> None:
    items = [Judged(gold=n % 5, verdict=(n % 5 + n % 3) / 2, status="decided") for n in range(60)]
    one, best = (measure_calibration(items, candidates=k) for k in (1, 20))
    assert best.errors is not None
    assert one.errors is not None
    assert best.errors.bias_interval[0] < one.errors.bias_interval[0]  # type: ignore[index]
    for name in ("spearman", "kendall", "quadratic_kappa"):
        assert getattr(best, name).low < getattr(one, name).low
    assert set(best.plain) == {"spearman", "quadratic_kappa"}
    assert best.controls.listed[0].advantage.low < one.controls.listed[0].advantage.low
    perfect = [Judged(gold="PASS", verdict="PASS", status="decided")] * 30
    first, last = (measure_calibration(perfect, candidates=k).ac1 for k in (1, 20))
    assert last.low < first.low  # type: ignore[union-attr, operator]


def test_the_number_is_kept_printed_and_unknown_in_old_calibrations() -> None:
    new = calibration(
        criteria={"verdict": measure_calibration(judged(40, 100), candidates=20)},
        candidates=20,
        part="held_back",
        holdout=0.5,
    )
    data = json.loads(json.dumps(new.to_dict()))
    assert data["confidence"] == pytest.approx(0.95 ** (1 / 20))
    assert CalibrationReport.from_dict(data) == new
    card = "\n".join(section_lines(calibration_section(new)))
    many = "\n".join(section_lines(calibration_section(replace(new, candidates=1_000_000))))
    assert "(each at 99.9999949 %)" in many
    assert "candidates measured on these labels: 20; intervals hold for all of them together (each at 99.74 %)" in card
    assert "95 % intervals of a single candidate, too narrow for the best of several: precision [" in card
    assert "a share of 0.5 of the labelled cases is held back: these are its numbers" in card
    choosing = "\n".join(section_lines(calibration_section(replace(new, part="choosing", candidates=1))))
    assert "to choose on; report the chosen one's numbers from --final" in choosing
    assert "candidates measured on these labels: 1\n" in choosing
    old = {
        name: value for name, value in calibration().to_dict().items() if name not in {"candidates", "part", "holdout"}
    }
    del old["confidence"]
    for criterion in old["criteria"].values():
        del criterion["selection"], criterion["plain"]
    read = CalibrationReport.from_dict(json.loads(json.dumps(old)))
    assert (read.candidates, read.part, read.confidence) == (None, "all", 0.95)
    assert "candidates" not in "\n".join(section_lines(calibration_section(read)))


def test_every_interval_printed_of_one_of_many_is_under_its_own_level() -> None:
    best = calibration(criteria={"verdict": measure_calibration(judged(40, 100), candidates=20)}, candidates=20)
    heads = [
        line for line in section_lines(calibration_section(best)) if line.startswith(("measure ", "consistency >="))
    ]
    assert ["99.74 %" in head and " 95 %" not in head for head in heads] == [True, True]


@pytest.mark.parametrize("candidates", [0, -3])
def test_there_is_at_least_one_candidate(candidates: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        simultaneous_level(candidates)
    with pytest.raises(UsageError, match="at least 1"):
        CalibrationSet("set", (("a case", "PASS"),), candidates=candidates)


def anchors(right: np.ndarray[Any, Any]) -> list[LabelledItem]:
    return [
        LabelledItem(case_id=f"c{n}", criterion="v", gold="PASS", verdict="PASS" if ok else "FAIL", status="decided")
        for n, ok in enumerate(right.tolist())
    ]


def test_drift_tests_the_best_of_many_at_a_level_that_holds_for_all() -> None:
    before, now = np.ones(50, dtype=bool), np.arange(50) >= 9
    one = drift(calibration(items=tuple(anchors(before))), anchors(now))
    best = drift(calibration(items=tuple(anchors(before)), candidates=20), anchors(now))
    assert (one.answer, one.candidates) == ("drifted", None)
    assert (best.answer, best.candidates, best.alpha) == ("inconclusive", 20, 0.05)
    assert best.criteria["v"].p == one.criteria["v"].p
    found = drift(calibration(items=tuple(anchors(before)), candidates=20), anchors(now), past=[])
    assert found.criteria["v"].evidence_needed == 2 * 20 / 0.05


def best_of(k: int, n: int, rate: float, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return, of 4,000 studies of k equal judges: hits of the luckiest, of the one lucky on half, and on the rest."""
    first, second = (rng.binomial(n // 2, rate, size=(STUDIES, k)) for _ in range(2))
    both, rows = first + second, np.arange(STUDIES)
    return both[rows, both.argmax(1)], first.max(1), second[rows, first.argmax(1)]


def covered(hits: Any, n: int, rate: float, confidence: float) -> float:
    ends = {hit: wilson(hit, n, confidence=confidence) for hit in set(hits.tolist())}
    return float(np.mean([ends[hit][0] <= rate <= ends[hit][1] for hit in hits.tolist()]))  # type: ignore[index]


@pytest.mark.parametrize(("n", "rate"), [(100, 0.8), (200, 0.8), (200, 0.9), (400, 0.7)])
@pytest.mark.parametrize(("k", "plain"), [(5, 0.93), (20, 0.75)])
def test_the_interval_of_the_best_covers_simultaneously_and_held_back(
    n: int, rate: float, k: int, plain: float
) -> None:
    """Plain intervals of the best of 20 cover 59 to 71 %."""
    best, _, held = best_of(k, n, rate, np.random.default_rng(n + k))
    assert covered(best, n, rate, 0.95) < plain
    assert covered(best, n, rate, simultaneous_level(k)) >= 0.95
    assert covered(held, n // 2, rate, 0.95) >= 0.925  # Wilson's own, which swings with n and the rate
    hit = int(best[0])
    items = [(True, n) for n in range(hit)] + [(False, n) for n in range(hit, n)]
    rate_of = Rate.over([one for one, _ in items], [key for _, key in items], confidence=simultaneous_level(k))
    assert rate_of is not None
    assert (rate_of.low, rate_of.high) == wilson(hit, n, confidence=simultaneous_level(k))


def test_an_unchanged_judge_chosen_by_luck_is_not_called_drifted() -> None:
    """Where decisions are noisy, the luckiest of 20 is worse the next day: 14 % of alarms at a level of 5 %."""
    rng = np.random.default_rng(9)
    tested = cache(sign_test)
    first = rng.random((STUDIES, 20, 50)) < 0.8
    before = first[np.arange(STUDIES), first.sum(2).argmax(1)]
    now = rng.random((STUDIES, 50)) < 0.8
    counts = zip((before & ~now).sum(1).tolist(), (~before & now).sum(1).tolist(), strict=True)
    p = np.array([tested(worse, better) or 1.0 for worse, better in counts])
    assert (p <= 0.05).mean() > 0.1
    assert (p <= simultaneous_alpha(0.05, 20)).mean() <= 0.05
