"""The noise rate: over the uniform sample alone, with what is not labelled yet told beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.statistics.proportions import wilson
from judgeharness_integrations.audit.labels import Assignment, AuditLabel, PairLabel, assign, noise_rate

Labels = dict[str, dict[str, AuditLabel]]
LABELS: tuple[PairLabel | None, ...] = ("clean", "ambiguous", "noise", None)


def labels(**said: dict[str, PairLabel | None]) -> Labels:
    return {
        name: {
            pair: AuditLabel(pair_id=pair, annotator=name, label=label, sequence=place)
            for place, (pair, label) in enumerate(mine.items(), start=1)
        }
        for name, mine in said.items()
    }


ASSIGNED = Assignment(
    seed=0,
    pool=50,
    overlap=0.4,
    uniform=("u1", "u2", "u3", "u4", "u5"),
    shared=("u1", "u2"),
    suspicious=("s1", "s2"),
    bundles={"anna": ("u1", "u2", "u3", "s1"), "ben": ("u1", "u2", "u4", "u5", "s2")},
)
SAID = labels(
    anna={"u1": "noise", "u2": "clean", "u3": "clean", "s1": "noise", "x1": "noise"},
    ben={"u1": "noise", "u2": "noise", "u4": "ambiguous", "u5": None, "s2": None, "x2": None},
)


def test_by_hand() -> None:
    found = noise_rate(SAID, ASSIGNED)
    assert found.uniform is not None
    assert found.suspicious is not None
    assert found.uniform.to_dict() == {
        "pairs": 5,
        "clean": 1,
        "ambiguous": 2,
        "noise": 1,
        "divided": 1,
        "rejected": None,
        "labelled": 4,
        "unlabelled": 1,
    }
    assert (found.suspicious.pairs, found.suspicious.noise, found.suspicious.unlabelled) == (2, 1, 1)
    assert (found.others.pairs, found.others.noise) == (1, 1)
    assert found.noise is not None
    assert found.ambiguous is not None
    assert (found.noise.successes, found.noise.trials) == (1, 4)
    assert (found.noise.low, found.noise.high) == wilson(1, 4)
    assert (found.ambiguous.successes, found.ambiguous.trials) == (2, 4)
    assert found.rule == "majority"


def test_labels_of_people_a_pair_was_not_assigned_to_move_no_rate_and_are_counted_apart() -> None:
    before = noise_rate(SAID, ASSIGNED)
    chosen = labels(
        ben={"u3": "noise", "s1": "clean"},  # both are anna's alone
        cleo={"u1": "clean", "u2": "noise", "u4": "noise", "u5": "noise", "x3": "clean"},  # nothing is hers
    )
    ben = {**SAID["ben"], **chosen["ben"]}
    found = noise_rate({"anna": SAID["anna"], "ben": ben, "cleo": chosen["cleo"]}, ASSIGNED)
    assert (found.uniform, found.suspicious) == (before.uniform, before.suspicious)
    assert found.agreement == before.agreement
    assert (found.noise, found.ambiguous) == (before.noise, before.ambiguous)
    assert found.others.to_dict() == {
        "pairs": 8,  # x1 of anna, u3 and s1 of ben, five of cleo
        "clean": 3,
        "ambiguous": 0,
        "noise": 5,
        "divided": 0,
        "rejected": None,
        "labelled": 8,
        "unlabelled": 0,
    }


def test_pairs_that_were_rejected_since_stay_in_the_sample_and_are_counted() -> None:
    found = noise_rate(SAID, ASSIGNED, rejected={"u1", "u5", "s2", "x1", "x9"})
    before = noise_rate(SAID, ASSIGNED)
    assert found.uniform is not None
    assert found.suspicious is not None
    assert (found.uniform.pairs, found.uniform.rejected) == (5, 2)
    assert (found.suspicious.rejected, found.others.rejected) == (1, 1)
    assert (found.noise, found.ambiguous) == (before.noise, before.ambiguous)
    assert noise_rate(SAID, None, rejected=["u1"]).others.rejected == 1


def test_agreement_is_over_the_pairs_that_both_were_to_label() -> None:
    chosen = labels(ben={"u3": "clean", "s1": "noise"})["ben"]  # those anna labelled that ben looked at of his own
    (pair,) = noise_rate({**SAID, "ben": {**SAID["ben"], **chosen}}, ASSIGNED).agreement
    assert (pair.annotators, pair.items, pair.agreed) == (("anna", "ben"), 2, 1)


def test_without_an_assignment_there_are_counts_and_no_rate() -> None:
    found = noise_rate(SAID, None)
    assert (found.uniform, found.suspicious, found.noise, found.ambiguous) == (None, None, None, None)
    assert (found.others.labelled, found.others.unlabelled) == (6, 0)  # what was taken back is no label
    assert found.others.noise == 3
    assert found.agreement[0].items == 2
    assert found.to_dict()["noise_rate"] is None
    assert found.to_dict()["uniform"] is None


def test_nothing_labelled_is_no_rate_of_nought() -> None:
    found = noise_rate({}, ASSIGNED)
    assert found.uniform is not None
    assert found.uniform.unlabelled == 5
    assert found.noise is None
    assert found.agreement == ()


def test_the_document_holds_the_rate_with_its_denominator() -> None:
    rate = noise_rate(SAID, ASSIGNED).to_dict()["noise_rate"]
    assert rate["value"] == 1 / 4
    assert rate["n"] == 4
    assert rate["low"] < rate["value"] < rate["high"]


@given(
    st.dictionaries(
        st.sampled_from(["anna", "ben", "cleo"]),
        st.dictionaries(st.sampled_from([f"p{n}" for n in range(30)]), st.sampled_from(LABELS)),
    ),
    st.integers(1, 20),
    st.lists(st.sampled_from([f"p{n}" for n in range(30)]), max_size=5),
)
def test_every_label_counts_in_one_slice(
    said: dict[str, dict[str, PairLabel | None]], n: int, suspicious: list[str]
) -> None:
    assignment = assign(
        [f"p{number}" for number in range(25)], annotators=["anna", "ben"], n=n, overlap=0.3, suspicious=suspicious
    )
    found = noise_rate(labels(**said), assignment)
    assert found.uniform is not None
    assert found.suspicious is not None
    given = {(name, pair) for name, mine in said.items() for pair, label in mine.items() if label is not None}
    due = {pair for name, pair in given if pair in assignment.bundles.get(name, ())}
    chosen = {pair for name, pair in given if pair not in assignment.bundles.get(name, ())}
    slices = (found.uniform, found.suspicious, found.others)
    assert found.uniform.labelled + found.suspicious.labelled == len(due)
    assert found.others.labelled == len(chosen)
    assert all(0 <= part.unlabelled <= part.pairs and part.divided <= part.ambiguous for part in slices)
    assert found.uniform.pairs == len(assignment.uniform)
    assert found.others.unlabelled == 0


@pytest.mark.parametrize("moved", ["s1", "x1"])
def test_pairs_outside_the_sample_move_no_rate(moved: str) -> None:
    before = noise_rate(SAID, ASSIGNED).noise
    changed = labels(anna={moved: "clean"})["anna"]
    assert noise_rate({**SAID, "anna": {**SAID["anna"], **changed}}, ASSIGNED).noise == before
