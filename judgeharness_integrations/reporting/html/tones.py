"""Which colour stands for which verdict: the same one everywhere on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judgeharness_integrations.reporting.html.wording import decision_word
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

__all__ = ["Tones"]

_FIXED = {
    "PASS": "pass",
    "FAIL": "fail",
    "A": "first",
    "B": "second",
    "TIE": "tie",
    "ABSTAIN": "abstain",
    "NOT GRADED": "ungraded",
}
_LABELS = 8  # colours of other labels, after which they start again
_STEPS = 7  # from the lowest score to the highest


class Tones:
    """Criterion and verdict -> the name of a colour.

    Args:
        results: everything the page shows.

    """

    def __init__(self, results: Iterable[HarnessResult]) -> None:
        """Learn which verdicts there are."""
        found: dict[str, set[Verdict]] = {}
        for result in results:
            for name, measured in result.criteria.items():
                verdicts = found.setdefault(name, set())
                verdicts.update(measured.sample_distribution)
                if measured.verdict is not None:
                    verdicts.add(measured.verdict)
        self._labels = {name: _numbered(verdicts) for name, verdicts in found.items()}
        self._scores = {name: _ends(verdicts) for name, verdicts in found.items()}

    def of(self, criterion: str, verdict: Verdict | None) -> str:
        """Return the colour of one verdict of a criterion."""
        if is_number(verdict):
            low, high = self._scores[criterion]
            share = (float(verdict) - low) / (high - low) if high > low else 0.5  # type: ignore[arg-type]
            return f"score-{min(int(share * _STEPS), _STEPS - 1) + 1}"
        word = decision_word(verdict)
        return _FIXED.get(word) or self._labels[criterion][word]


def _numbered(verdicts: Iterable[Verdict]) -> Mapping[str, str]:
    words = sorted({verdict_text(one) for one in verdicts if not is_number(one)} - _FIXED.keys())
    return {word: f"label-{number % _LABELS + 1}" for number, word in enumerate(words)}


def _ends(verdicts: Iterable[Verdict]) -> tuple[float, float]:
    scores = [float(one) for one in verdicts if isinstance(one, (int, float))]
    return (min(scores), max(scores)) if scores else (0.0, 0.0)
