"""A corpus written without sight of the readers: no count exceeds the recorded one, ours forge nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.forging import READERS
from support.outsider import Counted, counted

OURS = [name for name, reader in READERS.items() if reader.ours]
FEW = 97  # one reply of so many; a prime, so that all ways are met
# by reader and group: how many replies were read, and the ways with a count; `python -m support.outsider` prints it
RECORDED: Mapping[str, Mapping[str, Mapping[str, int]]] = json.loads(
    (Path(__file__).parents[1] / "data/outsider_counts.json").read_text("utf-8")
)


def _beyond(name: str, found: Counted) -> dict[str, dict[str, int]]:
    """Return by how much the counts exceed the recorded ones, by group and way."""
    excess = {group: Counter(ways) - Counter(RECORDED[name].get(group, {})) for group, ways in found.found.items()}
    return {group: dict(ways) for group, ways in excess.items() if ways}


def test_every_reader_is_recorded() -> None:
    assert RECORDED.keys() == READERS.keys()


def test_the_record_says_nothing_forged_lost_or_turned_of_our_judges() -> None:
    assert {name: RECORDED[name].keys() - {"read", "own_words"} for name in OURS} == {name: set() for name in OURS}


def test_the_corpus_is_large() -> None:
    sizes = [Counter(RECORDED[name]["read"]) for name in READERS]
    total = sum(sizes, Counter())
    assert total["attacks"] >= 10_000
    assert total["honest"] >= 3_000
    assert min(size["own_words"] for size in sizes) >= 24


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_sample_exceeds_no_recorded_count(name: str) -> None:
    found = counted(READERS[name], every=FEW)
    assert _beyond(name, found) == {}
    assert found.read["attacks"] >= 10
    assert found.read["honest"] >= 2


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("name", READERS)
def test_the_whole_exceeds_no_recorded_count(name: str) -> None:
    found = counted(READERS[name])
    assert found.read == RECORDED[name]["read"]
    assert _beyond(name, found) == {}
