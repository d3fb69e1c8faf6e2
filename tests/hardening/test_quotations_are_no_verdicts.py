"""Both counts over a corpus of quotations: verdicts that a quotation forged, and honest ones that were lost with it."""

from __future__ import annotations

import asyncio

import pytest
from support.forging import READERS
from support.quoting import LIMITS, LOST, counted

OURS = [name for name, reader in READERS.items() if reader.ours]
OTHERS = [name for name in READERS if name not in OURS]
FEW = 499  # one reply of so many; a prime, so that all ways are met


@pytest.mark.parametrize("name", OURS)
def test_no_quotation_is_a_verdict_of_our_judges_and_none_of_theirs_is_lost(name: str) -> None:
    found = asyncio.run(counted(READERS[name], every=FEW))
    assert (dict(found.forged), dict(found.lost)) == ({}, {})
    assert found.attacks >= 10
    assert found.honest >= 4


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_forged_of_others_is_what_is_documented(name: str) -> None:
    assert asyncio.run(counted(READERS[name], every=FEW)).forged.keys() <= LIMITS.get(name, {}).keys()


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("name", READERS)
def test_the_whole_corpus(name: str) -> None:
    found = asyncio.run(counted(READERS[name]))
    assert (found.attacks, found.honest) == (5_076, 2_400)
    assert dict(found.forged) == LIMITS.get(name, {})
    assert found.lost.total() == LOST.get(name, 0)
