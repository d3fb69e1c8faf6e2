"""Are the repetitions independent samples, or one answer counted several times?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Independence", "SampleStatus", "independence", "independence_of", "response_of"]

SampleStatus: TypeAlias = Literal["independent", "collapsed", "cannot tell", "not repeated"]
_IDS = frozenset({"response_id", "cached"})
_LONG_TEXT = 200  # characters: two independent answers of this length do not coincide by chance


@dataclass(frozen=True, kw_only=True)
class Independence:
    """Whether samples under one perturbation are copies of each other.

    `effective` counts the valid samples without proven copies; `evidence` says what proved them.
    """

    status: SampleStatus
    effective: int
    evidence: tuple[str, ...] = ()


def independence(rows: Iterable[VerdictRow], *, temperature: float | None = None) -> Independence:
    """Look for evidence of collapse among the valid samples of one case and criterion.

    Evidence is a cache hit, a repeated response id of the same answer, an identical text of 200 characters or more, or
    identical answers at temperature 0. Identical short texts prove nothing: `cannot tell`; nor does an id that
    different answers share.
    """
    groups: dict[str, list[VerdictRow]] = {}
    for row in rows:
        if row.verdict is not None:
            groups.setdefault(row.perturbation, []).append(row)
    return independence_of(groups.values(), temperature=temperature)


def independence_of(groups: Collection[Sequence[VerdictRow]], *, temperature: float | None = None) -> Independence:
    """Look for evidence of collapse among valid samples that are grouped by perturbation; see `independence`."""
    repeated = [group for group in groups if len(group) > 1]
    valid = sum(map(len, groups))
    if not repeated:
        return Independence(status="not repeated", effective=valid)
    copies = [reason for group in repeated for reason in _copies(group, temperature)]
    if copies:
        evidence = tuple(sorted(set(copies)))
        return Independence(status="collapsed", effective=valid - len(copies), evidence=evidence)
    known = all(len({_text(row) for row in group} - {None}) > 1 for group in repeated)
    return Independence(status="independent" if known else "cannot tell", effective=valid)


def response_of(row: VerdictRow) -> tuple[object, object] | None:
    """Return what only copies of one response share: its id and its text, or the verdict where no text was kept.

    None without an id. An id alone proves nothing: some servers give every response the same one.
    """
    response = row.attributes.get("response_id")
    if response is None:
        return None
    text = _text(row)
    return response, row.verdict if text is None else text


def _text(row: VerdictRow) -> str | None:
    return row.raw if row.raw is not None else row.reasoning


def _copies(group: Sequence[VerdictRow], temperature: float | None) -> Iterator[str]:
    """Yield why a sample is a copy of another one of the group, for each that is, in whatever order the group came."""
    if temperature != 0 and not any(map(_tells, group)):
        return
    first, *others = sorted(group, key=_age)
    seen_responses, seen_texts = {response_of(first)}, {_text(first)}
    frozen = temperature == 0 and all((_text(row), row.verdict) == (_text(first), first.verdict) for row in others)
    for row in others:
        response, text = response_of(row), _text(row)
        if row.attributes.get("cached") == "shared":
            yield "cache hit"
        elif response is not None and response in seen_responses:
            yield "repeated response id"
        elif text is not None and len(text) >= _LONG_TEXT and text in seen_texts:
            yield "identical long texts"
        elif frozen:
            yield "temperature 0"
        seen_responses.add(response)
        seen_texts.add(text)


def _tells(row: VerdictRow) -> bool:
    """Whether there is anything of a row that only a copy can share."""
    text = _text(row)
    return (text is not None and len(text) >= _LONG_TEXT) or not _IDS.isdisjoint(row.attributes)


def _age(row: VerdictRow) -> tuple[bool, int]:
    return (row.attributes.get("cached") == "shared", row.repetition)
