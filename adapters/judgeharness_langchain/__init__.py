"""LangChain judges as measurements: wrap an evaluator, or use a chat or decision model as a judge of our own.

`harness_evaluator(evaluator)` keeps the evaluator's interface and result dict and adds one key, `harness`.
"""

from typing import TYPE_CHECKING

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .decisions import DecisionJudge
    from .evaluators import EvaluatorJudge
    from .judges import CriteriaJudge, LabelJudge, PairwiseJudge, ScoreJudge, Taxonomy
    from .loading import load_evaluator
    from .models import chat_rewriter
    from .wrapping import harness_evaluator

__all__ = [
    "CriteriaJudge",
    "DecisionJudge",
    "EvaluatorJudge",
    "LabelJudge",
    "NotGradedError",
    "PairwiseJudge",
    "ScoreJudge",
    "Taxonomy",
    "chat_rewriter",
    "harness_evaluator",
    "load_evaluator",
]

# Loaded at first use, so that the package can say what is missing when LangChain is not installed.
_HOMES = {
    "CriteriaJudge": "judges",
    "DecisionJudge": "decisions",
    "EvaluatorJudge": "evaluators",
    "LabelJudge": "judges",
    "PairwiseJudge": "judges",
    "ScoreJudge": "judges",
    "Taxonomy": "judges",
    "chat_rewriter": "models",
    "harness_evaluator": "wrapping",
    "load_evaluator": "loading",
}


def _require(_: str) -> None:
    from .adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require()


__getattr__ = lazy(__name__, _HOMES, _require)
