"""Which pairs are to be judged: those in some states, all of them or those of a sample."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.benchmark.judging.sampling import Sample
from judgeharness_integrations.benchmark.pair import Pair, PairState
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

__all__ = ["STATES", "in_sample", "in_states", "sampled_ids", "states_named"]

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
    silent = sum(pair.state in states for pair in pairs)
    if silent:
        raise UsageError(
            f"no pair of {where} that is {named} has conversations to be judged: there are {there}, and the {silent} "
            f"that {'is' if silent == 1 else 'are'} {named} ended before they were written."
        )
    if any(pair.state == "unverified" and pair.conversations is not None for pair in pairs):
        raise UsageError(
            f"no pair of {where} is {named}: there are {there}; check them with judgeharness benchmark verify, or give "
            "--states unverified."
        )
    raise UsageError(
        f"no pair of {where} is {named}: there are {there}; make more with judgeharness benchmark generate."
    )


def sampled_ids(path: Path) -> tuple[str, ...]:
    """Return the ids of a sample, or of the pairs of a JSONL file: `curated.jsonl`, a file of an export in any format.

    Raises:
        CaseError: it is a sample that lacks something.
        UsageError: it cannot be read, or a line of it is no pair.

    """
    try:
        text = path.read_text(encoding="utf-8", errors=LONE_SURROGATES)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}): give sample.json or a JSONL file of pairs."
        ) from error
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, Mapping) and _id_of(whole) is None:
        return Sample.from_dict(dict(whole), where=str(path)).pairs
    found = tuple(dict.fromkeys(_ids(text, path)))
    if not found:
        raise UsageError(f"{path} holds no pairs: give a sample, or a JSONL file with some.")
    return found


def _ids(text: str, path: Path) -> Iterator[str]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise UsageError(
                    f"{path}, line {number} is no JSON ({error}): give sample.json or a JSONL file of pairs."
                ) from error
            name = _id_of(entry) if isinstance(entry, Mapping) else None
            if name is None:
                raise UsageError(f"{path}, line {number} is no pair: give sample.json or a JSONL file of pairs.")
            yield name


def _id_of(entry: Mapping[str, Any]) -> str | None:
    """Return the id of a pair, as a folder or the public field names keep it, or of a case of one."""
    conditions = entry.get("conditions")
    inner = conditions.get("pair_id") if isinstance(conditions, Mapping) else None
    found = next((value for value in (inner, entry.get("id"), entry.get("case_id")) if value is not None), None)
    return str(found).strip() if isinstance(found, (str, int)) else None


def in_sample(pairs: Sequence[Pair], names: Collection[str], *, where: str) -> list[Pair]:
    """Return the pairs whose ids are among some names.

    Raises:
        UsageError: one of the names is none of the pairs; `where` names the sample.

    """
    known = {pair.pair_id for pair in pairs}
    missing = [name for name in names if name not in known]
    if missing:
        raise UsageError(
            f"{where}: {len(missing)} of its pairs, as {missing[0]}, are not among those to be judged: draw a new "
            "sample, or give the --states it was drawn from."
        )
    drawn = set(names)
    return [pair for pair in pairs if pair.pair_id in drawn]
