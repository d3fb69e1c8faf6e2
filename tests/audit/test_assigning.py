"""Who labels what: a uniform sample, its shared part, and a slice nobody can tell from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.audit.labels import assign, read_assignment, write_assignment

PAIRS = [f"pair-{n:05d}" for n in range(1, 201)]
names = st.lists(st.sampled_from(["anna", "ben", "cleo", "dora"]), min_size=1, max_size=4, unique=True)


@given(
    names,
    st.integers(1, 60),
    st.floats(0, 1),
    st.lists(st.sampled_from(PAIRS), max_size=12),
    st.integers(1, 80),
)
def test_every_pair_is_labelled_by_as_many_as_it_should_be(
    annotators: list[str], n: int, overlap: float, suspicious: list[str], there: int
) -> None:
    pool = PAIRS[:there]
    made = assign(pool, annotators=annotators, n=n, overlap=overlap, suspicious=suspicious)
    labelled = Counter(pair for bundle in made.bundles.values() for pair in bundle)
    assert len(made.uniform) == len({*made.uniform}) == min(n, there)
    assert {*made.uniform} <= {*pool}
    assert not {*made.suspicious} & {*made.uniform}
    assert {*made.suspicious} == {*suspicious} - {*made.uniform}
    assert {*labelled} == {*made.uniform, *made.suspicious}
    assert all(labelled[pair] == (len(annotators) if pair in made.shared else 1) for pair in labelled)
    assert len(made.shared) == (round(overlap * len(made.uniform)) if len(annotators) > 1 else 0)
    sizes = [len({*bundle} & ({*made.uniform} - {*made.shared})) for bundle in made.bundles.values()]
    assert max(sizes) - min(sizes) <= 1


def test_a_larger_sample_contains_a_smaller_one_and_annotators_change_nothing_of_it() -> None:
    small = assign(PAIRS, annotators=["anna"], n=30, seed=4)
    large = assign(PAIRS[::-1], annotators=["ben", "cleo"], n=50, seed=4)
    assert large.uniform[:30] == small.uniform
    assert assign(PAIRS, annotators=["anna"], n=30, seed=5).uniform != small.uniform


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    written = [
        write_assignment(tmp_path / name, assign(pool, annotators=["anna", "ben"], n=40, suspicious=PAIRS[:9]))
        for name, pool in (("one", PAIRS), ("two", PAIRS[::-1]))
    ]
    assert written[0].read_bytes() == written[1].read_bytes()
    assert read_assignment(tmp_path / "one") == assign(PAIRS, annotators=["anna", "ben"], n=40, suspicious=PAIRS[:9])
    assert [path.name for path in (tmp_path / "one" / "audit").iterdir()] == ["assignment.json"]


@pytest.mark.slow
def test_every_pair_has_the_same_chance() -> None:
    # 20 of 200 by 400 seeds: a pair is drawn 40 times on average, SD 6
    drawn = Counter(pair for seed in range(400) for pair in assign(PAIRS, annotators=["a"], n=20, seed=seed).uniform)
    assert len(drawn) == len(PAIRS)
    assert 15 < min(drawn.values()) < max(drawn.values()) < 70


def test_the_slice_may_depend_on_the_sample() -> None:
    made = assign(PAIRS, annotators=["anna"], n=10, suspicious=lambda sample: [*sample[:2], *PAIRS[:3]])
    assert made.suspicious == tuple(pair for pair in PAIRS[:3] if pair not in made.uniform)


def test_the_order_of_a_bundle_does_not_tell_why_a_pair_is_in_it() -> None:
    made = assign(PAIRS[20:], annotators=["anna", "ben"], n=60, overlap=0.2, suspicious=PAIRS[:20])
    for bundle in made.bundles.values():
        places = [place for place, pair in enumerate(bundle) if pair in made.suspicious]
        assert places != list(range(len(places)))
        assert places[-1] < len(bundle) - 1 or places[0] < len(places)
    assert [pair for pair in made.bundles["anna"] if pair in made.shared] != [
        pair for pair in made.bundles["ben"] if pair in made.shared
    ]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"pairs": []}, "there is no pair to assign"),
        ({"annotators": []}, "name the annotators, each once"),
        ({"annotators": ["anna", "Anna "]}, "name the annotators, each once"),
        ({"annotators": ["a/b"]}, "an annotator's name is also the name of a file"),
        ({"n": 0}, "a sample holds at least 1 pair, not 0"),
        ({"overlap": 1.5}, "the overlap is a share from 0 to 1, not 1.5"),
    ],
)
def test_what_cannot_be_assigned_is_told(wrong: dict[str, object], sentence: str) -> None:
    given: dict[str, object] = {"pairs": PAIRS, "annotators": ["anna"], "n": 5, "overlap": 0.1} | wrong
    with pytest.raises(UsageError, match=sentence):
        assign(given.pop("pairs"), **given)  # type: ignore[arg-type]


def test_a_damaged_assignment_is_told(tmp_path: Path) -> None:
    assert read_assignment(tmp_path) is None
    path = write_assignment(tmp_path, assign(PAIRS, annotators=["anna"], n=5))
    path.write_text("{")
    with pytest.raises(CaseError, match=r"assignment\.json is no JSON .*: restore it"):
        read_assignment(tmp_path)
    path.write_text('{"schema": "judgeharness.audit_assignment/1"}')
    with pytest.raises(CaseError, match=r"assignment\.json: seed"):
        read_assignment(tmp_path)


def test_a_failed_write_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = assign(PAIRS, annotators=["anna"], n=5)
    write_assignment(tmp_path, made)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_assignment(tmp_path, assign(PAIRS, annotators=["ben"], n=6))
    assert read_assignment(tmp_path) == made
    assert len(list((tmp_path / "audit").iterdir())) == 1
