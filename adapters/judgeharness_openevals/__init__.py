"""openevals judges as measurements: the same keyword-only protocol and result dicts, with the measurement in metadata.

`harness_judge(judge)` wraps any openevals evaluator; `create_harnessed_pairwise_judge` compares two answers.
"""

from typing import TYPE_CHECKING

from judgeharness_integrations._errors import NotGradedError
from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .judges import OpenevalsJudge
    from .pairwise import PAIRWISE_PROMPT, create_async_harnessed_pairwise_judge, create_harnessed_pairwise_judge
    from .wrapping import harness_judge

__all__ = [
    "PAIRWISE_PROMPT",
    "NotGradedError",
    "OpenevalsJudge",
    "create_async_harnessed_pairwise_judge",
    "create_harnessed_pairwise_judge",
    "harness_judge",
]

# Loaded at first use, so that the package can say what is missing when openevals is not installed.
_HOMES = {
    "PAIRWISE_PROMPT": "pairwise",
    "OpenevalsJudge": "judges",
    "create_async_harnessed_pairwise_judge": "pairwise",
    "create_harnessed_pairwise_judge": "pairwise",
    "harness_judge": "wrapping",
}


def _require(_: str) -> None:
    from .adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require()


__getattr__ = lazy(__name__, _HOMES, _require)
