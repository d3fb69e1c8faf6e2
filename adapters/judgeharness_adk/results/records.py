"""One measurement, and what ADK's results say of its invocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from judgeharness_adk.judges import JUDGES
from judgeharness_integrations import HarnessResult
from judgeharness_integrations.design import Fingerprint

__all__ = ["AdkResult"]


@dataclass(frozen=True, kw_only=True)
class AdkResult:
    """The measurement of one invocation by one metric; of `hallucinations_v1`, of one step of the invocation.

    `rubrics` maps the rubrics shown to their texts, None where `keep` did not keep them; `standing` are those of the
    metric's own criterion; `parts` is what the fingerprint covers. What ADK's results say of the invocation is None
    where none knows it: the `evaluation` (ADK's `eval_set_result_id`: one eval set evaluated once, all its `num_runs`
    included) and when it was finished (`evaluated_at`, ISO 8601 in UTC), `app`, `eval_set_id`, `eval_id`, `turn`
    (1-based), `run` (1-based, of the runs of that eval case in that evaluation, in order of time), what the user
    (`input`) and the agent (`output`) said, the expected response (`reference`), and the earlier turns and this
    turn's tool calls (`context`). Read from a rationale of ADK's result, where no sidecar holds it, it has no `parts`,
    no `standing` and no texts of rubrics, and of its `result` only the counts are known (`counts_alone`).
    """

    result: HarnessResult
    metric: str
    invocation_id: str
    rubrics: Mapping[str, str | None] = field(repr=False)
    standing: tuple[str, ...]
    parts: Mapping[str, Any] | None = field(repr=False)
    evaluation: str | None = None
    evaluated_at: str | None = None
    app: str | None = None
    eval_set_id: str | None = None
    eval_id: str | None = None
    turn: int | None = None
    run: int | None = None
    input: str | None = None
    output: str | None = None
    reference: str | None = None
    context: str | None = None

    @property
    def joined(self) -> bool:
        """Whether a result of ADK knows the invocation."""
        return self.eval_id is not None

    @cached_property
    def fingerprint(self) -> str | None:
        """Digest of the judge's configuration; None when it declares no identity."""
        return self.result.fingerprint if self.parts is None else Fingerprint(self.parts).digest

    @property
    def pooled(self) -> str | None:
        """What the criteria are called where they are other questions in every invocation: `sentences`."""
        judge = JUDGES.get(self.result.judge)
        return None if judge is None else judge.pooled
