"""Which pairs are to be judged: those in some states, all of them or those of a sample."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.judging.sampling import Sample
from judgeharness_integrations.benchmark.pair import Pair, PairState

__all__ = ["STATES", "in_sample", "in_states", "read_sample", "states_named"]

STATES: Final[tuple[PairState, ...]] = get_args(PairState)


def states_named(text: str) -> tuple[PairState, ...]:
    """Return the states of a text with commas between them.

    Raises:
        UnknownNameError: one of them is not known; the nearest is offered.

    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name not in STATES:
            raise UnknownNameError("state", name, STATES)
    return tuple(state for state in STATES if state in names)


def in_states(pairs: Sequence[Pair], states: Sequence[PairState], *, where: str) -> list[Pair]:
    """Return the pairs in some states that have conversations.

    Raises:
        UsageError: there is none; the sentence names what `where` holds instead.

    """
    found = [pair for pair in pairs if pair.state in states and pair.conversations is not None]
    if found:
        return found
    if not pairs:
        raise UsageError(f"{where} holds no pairs yet: make some with judgeharness benchmark generate.")
    counts = Counter(pair.state for pair in pairs)
    there = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    named = " or ".join(states)
    if any(pair.state == "unverified" and pair.conversations is not None for pair in pairs):
        raise UsageError(
            f"no pair of {where} is {named}: there are {there}; check them with judgeharness benchmark verify, or give "
            "--states unverified."
        )
    raise UsageError(
        f"no pair of {where} is {named}: there are {there}; make more with judgeharness benchmark generate."
    )


def read_sample(path: Path) -> Sample:
    """Return the sample of a file.

    Raises:
        CaseError: it holds none.
        UsageError: it is no JSON.

    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON ({error}): make a sample with judgeharness benchmark sample.") from error
    return Sample.from_dict(data, where=str(path))


def in_sample(pairs: Sequence[Pair], sample: Sample, *, where: str) -> list[Pair]:
    """Return the pairs of a sample.

    Raises:
        UsageError: one of them is not among the pairs; `where` names the sample.

    """
    known = {pair.pair_id for pair in pairs}
    missing = [name for name in sample.pairs if name not in known]
    if missing:
        raise UsageError(
            f"{where}: {len(missing)} of its pairs, as {missing[0]}, are not among those to be judged: draw a new "
            "sample, or give the --states it was drawn from."
        )
    drawn = set(sample.pairs)
    return [pair for pair in pairs if pair.pair_id in drawn]
