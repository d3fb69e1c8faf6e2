"""Calls of a simulated judge as arrays: its preferences, and what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeharness_integrations.testing.simulating.drawing import normals, uniforms

if TYPE_CHECKING:
    from judgeharness_integrations.testing.simulating.asked import Asked
    from judgeharness_integrations.testing.simulating.judge import SimulatedJudge
    from judgeharness_integrations.verdictlog.row import Outcome

    Floats = NDArray[np.float64]
    Keys = NDArray[np.uint64]

__all__ = ["OUTCOME_OF", "Answers", "answers", "evidence", "raw_text"]

REFUSED, UNPARSED = -1, -2
OUTCOME_OF: Mapping[int, Outcome] = {REFUSED: "refused", UNPARSED: "unparsed"}
_STREAMS = 3  # of every call: its noise, whether it obeys, whether it can be read


class Answers(NamedTuple):
    """Of n calls the places among the scale's verdicts, or `REFUSED` or `UNPARSED`, and the preferences behind them."""

    places: NDArray[np.intp]
    preferences: Floats


def answers(judge: SimulatedJudge, questions: Sequence[Asked], repetitions: NDArray[np.intp], calls: Floats) -> Answers:
    """Answer every question as often as it is repeated.

    Args:
        judge: who answers.
        questions: the m different ones.
        repetitions: (m, r) numbers of the repetitions; all of a question stand together in the answers, n = m r.
        calls: (n,) how many calls came before.

    """
    each = repetitions.shape[1]

    def column(values: Sequence[float] | Floats) -> Floats:
        return np.repeat(np.asarray(values, dtype=np.float64), each)

    keys = np.repeat(np.array([one.key for one in questions], dtype=np.uint64), each)
    counter = np.uint64(_STREAMS) * repetitions.reshape(-1).astype(np.uint64)
    means = np.array([one.mean for one in questions]) + _shifts(questions) + _of_cases(judge, questions)
    signs = column([one.sign for one in questions])
    own = judge.noise * (1 - judge.case_correlation) ** 0.5
    z = column(means) + signs * judge.drift * calls + own * normals(keys, counter)
    places = judge.scale.places(z)
    obeyed = column([one.obeyed for one in questions])
    if obeyed.any():
        obeys = uniforms(keys, counter + np.uint64(1)) < obeyed
        places = np.where(obeys, np.repeat([one.wanted for one in questions], each), places)
    if judge.refusal or judge.garbage:
        lot = uniforms(keys, counter + np.uint64(2))
        places = np.where(lot < judge.refusal + judge.garbage, UNPARSED, places)
        places = np.where(lot < judge.refusal, REFUSED, places)
    return Answers(places, z)


def _of_cases(judge: SimulatedJudge, questions: Sequence[Asked]) -> Floats | float:
    """Return the noise that all calls about a case share, for each question (m,)."""
    shared = judge.noise * judge.case_correlation**0.5
    return shared * normals(np.array([one.case for one in questions], dtype=np.uint64)) if shared else 0.0


def _shifts(questions: Sequence[Asked]) -> Floats:
    """Return what other formats and other words do to each question (m,)."""
    total = np.zeros(len(questions))
    found = [(at, *shift) for at, one in enumerate(questions) for shift in one.shifts]
    if found:
        at, keys, sizes = zip(*found, strict=True)
        np.add.at(total, list(at), np.array(sizes) * normals(np.array(keys, dtype=np.uint64)))
    return total


def raw_text(place: int, preference: float) -> str:
    """Return the text an answer is read from; the preference in it tells independent samples from copies."""
    if place == REFUSED:
        return "I would rather not say."
    return "hm, 42?" if place == UNPARSED else f"preference {preference:+.6f}"


def evidence(judge: SimulatedJudge, question: Asked) -> dict[str, str | float]:
    """Return what a call tells besides its answer: of copies, that they are."""
    return {"response_id": f"{question.key:016x}"} if judge.copies else {}
