"""What an annotator who always gives the same answer comes to in the test, at no call."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from judgeharness_integrations.agreement.alttest.advantage import Advantage, advantage
from judgeharness_integrations.agreement.alttest.ballots import Ballots, Replies
from judgeharness_integrations.agreement.alttest.closeness import Closeness
from judgeharness_integrations.verdictlog.row import verdict_text

__all__ = ["constant_advantages"]

_LONGEST_NAME = 60


def constant_advantages(
    ballots: Ballots, measures: Mapping[str, Closeness], *, min_instances: int
) -> dict[str, Advantage]:
    """Return, by score, the comparisons of a candidate that always gives the humans' commonest answer.

    Of numbers it is their median. It is chosen on these very labels, which favours it.

    Args:
        ballots: what the humans said.
        measures: score -> how close an answer is.
        min_instances: see `advantage`.

    """
    code = _commonest(ballots)
    numbers = None if ballots.numbers is None else np.full(ballots.size, float(ballots.words[code]))
    replies = Replies(
        given=np.ones(ballots.size, dtype=bool), codes=np.full(ballots.size, code, np.intp), numbers=numbers
    )
    name = f"always {verdict_text(ballots.words[code]):.{_LONGEST_NAME}}"
    return {
        score: advantage(ballots, measure, replies, candidate=name, score=score, min_instances=min_instances)
        for score, measure in measures.items()
    }


def _commonest(ballots: Ballots) -> int:
    if ballots.numbers is not None:
        return int(ballots.codes[np.argsort(ballots.numbers, kind="stable")[(len(ballots.codes) - 1) // 2]])
    return int(np.bincount(ballots.codes).argmax())
