"""Decision models among those that judge a benchmark: `decisions:openai:gpt-6-luna`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.benchmark.pair import Taxonomy
from judgeharness_integrations.benchmark.results.judgments import TYPE
from judgeharness_integrations.cli.benchmark.asking import ModelFile
from judgeharness_integrations.judging.adapters import JudgeSpec, find_adapter
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.chatmodels import ChatModel
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.redacting import without_secrets

_PREFIX: Final = "decisions:"


@dataclass(frozen=True, kw_only=True)
class DecisionModel:
    """A decision model by its spec, as `openai:gpt-6-luna`; LangChain's adapter makes the judge over it."""

    spec: str
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The model's own name, for limits and prices."""
        return self.spec.partition(":")[2] or self.spec

    def judge(self, criteria: Sequence[Criterion], taxonomy: Taxonomy, *, name: str) -> Judge:
        """Return the judge that is asked about these criteria.

        Raises:
            UsageError: LangChain has no decision models, or the model cannot be made.

        """
        types = {kind.name: kind.definition for kind in taxonomy.failure_types.values()}
        spec = JudgeSpec(
            name=name,
            evaluator="DecisionJudge",
            model=self.spec,
            model_options=self.options,
            evaluator_options={"criteria": list(criteria), "described": {TYPE: types}},
        )
        try:
            return find_adapter("langchain").build_judge(spec)
        except JudgeHarnessError as error:
            error.args = (without_secrets(str(error), self.options),)
            raise


JudgeModel: TypeAlias = ChatModel | DecisionModel


def judge_model(spec: str, models: ModelFile) -> JudgeModel:
    """Return the model of a spec that judges, with its options.

    Raises:
        UsageError: it cannot be made.

    """
    if not spec.startswith(_PREFIX):
        return models.model(spec)
    named = spec.removeprefix(_PREFIX)
    return DecisionModel(spec=named, options=models.options_of(named))
