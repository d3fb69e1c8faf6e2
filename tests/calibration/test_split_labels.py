"""Items that people are evenly split on: kept by name, and told in a corrected rate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.analysis.calibration.corrected import corrected_rate
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import joined, read_gold
from judgeharness_integrations.verdictlog import VerdictRow, write_log

Command = Callable[..., Any]
SPLIT = [n % 10 == 3 for n in range(200)]
JUDGED = [n % 4 < 2 for n in range(200)]
LABELS = [None if n % 2 or SPLIT[n] else n % 4 < 2 or n % 20 == 6 for n in range(200)]


def labels_of(*, side: bool) -> list[bool | None]:
    return [side if tied else label for tied, label in zip(SPLIT, LABELS, strict=True)]


def test_the_corrected_rate_is_bounded_by_all_split_items_as_positive_and_as_not() -> None:
    found = corrected_rate(judged=JUDGED, labels=LABELS, split=SPLIT, labels_are="random", positive="PASS")
    assert found.split is not None
    assert (found.split.items, found.labelled, found.items) == (20, 100, 200)
    assert found.best == corrected_rate(judged=JUDGED, labels=LABELS, labels_are="random").best
    for side, bound in ((True, found.split.positive), (False, found.split.negative)):
        assert bound == corrected_rate(judged=JUDGED, labels=labels_of(side=side), labels_are="random").best
    good, bad = found.split.positive, found.split.negative
    assert good is not None
    assert bad is not None
    assert (good.estimate or 0) > (bad.estimate or 0)
    assert found.notes[0] == (
        "people are evenly split on 20 items, which have no label in the estimates: these speak for items that people "
        f"agree on; all of them counted as PASS, the rate is {good.estimate:.3f} [{good.low:.3f}, {good.high:.3f}], "
        f"all counted as not PASS {bad.estimate:.3f} [{bad.low:.3f}, {bad.high:.3f}]"
    )
    assert found.to_dict()["split"]["negative"] == {"estimate": bad.estimate, "low": bad.low, "high": bad.high}


def test_without_a_chosen_estimator_nothing_is_chosen_with_split_items_either() -> None:
    found = corrected_rate(judged=JUDGED, labels=LABELS, split=SPLIT)
    assert found.to_dict()["split"] == {"items": 20, "positive": None, "negative": None}
    assert found.notes[0].endswith(
        "with them all counted as the positive label, or all as not the positive label, nothing is chosen either"
    )


def test_split_items_of_another_mix_are_none_of_the_items_whose_rate_is_asked_for() -> None:
    clusters = [f"k{n}" for n in range(200)]
    found = corrected_rate(judged=JUDGED, labels=LABELS, split=SPLIT, clusters=clusters, labels_are="other_mix")
    assert (found.items, found.labelled) == (80, 100)
    assert found.split is not None
    assert found.split.positive is not None


def test_a_bound_without_a_number_says_none() -> None:
    known = [n % 10 < 5 for n in range(40)]  # of which one in ten is judged wrongly
    judged = [one != (n % 20 in {4, 9}) for n, one in enumerate(known)] + [False] * 300 + [True] * 40
    labels, split = [*known, *[None] * 340], [*[False] * 40, *[True] * 300, *[False] * 40]
    found = corrected_rate(judged=judged, labels=labels, split=split, labels_are="other_mix")
    assert found.split is not None
    assert found.split.positive is not None
    assert found.split.positive.estimate is None
    assert "all of them counted as the positive label, the rate is none, all counted as not" in found.notes[0]


def test_no_split_item_is_no_news() -> None:
    plain = corrected_rate(judged=JUDGED, labels=LABELS, labels_are="random")
    assert corrected_rate(judged=JUDGED, labels=LABELS, split=[False] * 200, labels_are="random") == plain
    assert plain.to_dict()["split"] is None


def test_a_label_set_keeps_which_items_are_split(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_text('case_id,output,gold,label_count\nc1,x,PASS,3\nc2,x,,2\nc3,x,,1\nc4,x,"[""PASS"", ""FAIL""]",2\n')
    for labels in (CalibrationSet.from_file(path), read_gold(path)):
        assert labels.split() == (("c2", ""), ("c4", ""))
        assert labels.golds() == ({"c1": {"": "PASS"}}, 2)
    assert joined([VerdictRow(case_id="c1", verdict="PASS")], read_gold(path)).split == labels.split()
    nested = [({"case_id": "c1"}, {"tone": ["A", "B"], "facts": "A"})]
    assert CalibrationSet("n", nested, ties=[("c0", "tone")]).split() == (("c0", "tone"), ("c1", "tone"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = [VerdictRow(case_id=f"c{n}", verdict="PASS" if one else "FAIL") for n, one in enumerate(JUDGED)]
    return write_log(rows, tmp_path / "log.jsonl")


def test_the_command_prints_the_bounds_once(command: Command, log: Path, tmp_path: Path) -> None:
    lines = [
        f"c{n},{'' if label is None else 'PASS' if label else 'FAIL'},{2 if tied else 1}"
        for n, (label, tied) in enumerate(zip(LABELS, SPLIT, strict=True))
        if label is not None or tied
    ]
    gold = tmp_path / "gold.csv"
    gold.write_text("\n".join(["case_id,gold,label_count", *lines]))
    wanted = ("corrected-rate", log, "--rule", "majority", "--gold", gold, "--labels-are", "random")
    ran = command(*wanted)
    assert ran.out.count("evenly split") == 1
    assert "note: people are evenly split on 20 items, which have no label in the estimates" in ran.out
    assert "all of them counted as PASS, the rate is" in ran.out
    assert command(*wanted, "--json").json["split"]["items"] == 20


def test_a_calibration_that_left_split_labels_out_says_where_they_are_told(
    command: Command, log: Path, tmp_path: Path
) -> None:
    gold, saved = tmp_path / "gold.csv", tmp_path / "saved.json"
    rows = [f"c{n},{'PASS' if n % 4 < 2 else 'FAIL'},1" for n in range(40)]
    gold.write_text("\n".join(["case_id,gold,label_count", *rows, "c50,,2"]))
    labelled = ("--labels", gold, "--rule", "majority", "--source", "human")
    assert command("calibrate", "--log", log, *labelled, "--out", saved).code == 0
    ran = command("corrected-rate", log, "--rule", "majority", "--calibration", saved)
    assert "note: the calibration leaves out 1 evenly split label," in ran.out
