"""openevals judges as measurements: the same keyword-only protocol and result dicts, with the measurement in metadata.

`harness_judge(judge)` wraps any openevals evaluator; `create_harnessed_pairwise_judge` compares two answers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeharness_openevals.openevals_judge import OpenevalsJudge
    from judgeharness_openevals.pairwise import (
        PAIRWISE_PROMPT,
        create_async_harnessed_pairwise_judge,
        create_harnessed_pairwise_judge,
    )
    from judgeharness_openevals.wrapping import harness_judge

__all__ = [
    "PAIRWISE_PROMPT",
    "OpenevalsJudge",
    "create_async_harnessed_pairwise_judge",
    "create_harnessed_pairwise_judge",
    "harness_judge",
]

# Loaded at first use, so that the package can say what is missing when openevals is not installed.
_HOMES = {
    "PAIRWISE_PROMPT": "pairwise",
    "OpenevalsJudge": "openevals_judge",
    "create_async_harnessed_pairwise_judge": "pairwise",
    "create_harnessed_pairwise_judge": "pairwise",
    "harness_judge": "wrapping",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from judgeharness_openevals.adapter import ADAPTER  # noqa: PLC0415

    ADAPTER.require()
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
