"""Which evaluators are openevals', harnessed or not."""

from __future__ import annotations

from judgeharness_integrations._errors import UnsupportedEvaluatorError
from judgeharness_integrations.judging import Judge
from judgeharness_openevals.openevals_judge import OpenevalsJudge
from judgeharness_openevals.preference_judge import PreferenceJudge
from judgeharness_openevals.protocol import PROTOCOL, Protocol
from judgeharness_openevals.wrapping import is_harnessed

__all__ = ["recognise"]

_TAKEN = frozenset({*PROTOCOL, "attachments"})


def recognise(evaluator: object) -> Judge | None:
    """Return the judge in a harnessed evaluator, or one over a function that takes `outputs` and no other than these.

    None for anything else, judges and classes included.
    """
    wrapped = getattr(evaluator, "judge", None)
    if is_harnessed(evaluator):
        return wrapped if isinstance(wrapped, (OpenevalsJudge, PreferenceJudge)) else None
    if not callable(evaluator) or isinstance(evaluator, (type, Judge)):
        return None
    try:
        names = set(Protocol.of(evaluator).names)
    except UnsupportedEvaluatorError:
        return None
    if "outputs" not in names or not names <= _TAKEN:
        return None
    return OpenevalsJudge.of(evaluator)
