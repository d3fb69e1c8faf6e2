"""What configuration files and `judgeharness adapters` know about openevals; imports no framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging.judge import Judge

from .versions import TESTED

if TYPE_CHECKING:
    from judgeharness_integrations.judging.adapterkit import Bench


def _build_judge(spec: JudgeSpec) -> Judge:
    from .wrapping import judge_from_spec  # noqa: PLC0415 - imports openevals

    return judge_from_spec(spec)


def _recognise(evaluator: object) -> Judge | None:
    from .wrapping import recognise  # noqa: PLC0415

    return recognise(evaluator)


def _benches() -> Sequence[Bench]:
    from .bench import benches  # noqa: PLC0415

    return benches()


ADAPTER = Adapter(
    name="openevals",
    extras={"openevals": ("openevals",)},
    build_judge=_build_judge,
    tiers=frozenset({"flex"}),
    recognise=_recognise,
    benches=_benches,
    tested=TESTED,
)
