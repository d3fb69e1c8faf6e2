"""PairwiseJudge: which of two answers is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel

from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.judging import Answer
from judgeharness_integrations.marks import REASONING_PROPERTY
from judgeharness_integrations.parsing import Grammar, label_grammar
from judgeharness_langchain.chat_judge import DEFAULT_SLOTS, ChatJudge, JudgeOptions, Reading
from judgeharness_langchain.kinds import PAIRWISE
from judgeharness_langchain.rubric import CriteriaLike, one_criterion
from judgeharness_langchain.structured import object_schema, reasoning_of

__all__ = ["PairwiseJudge"]

_INSTRUCTIONS = "You compare two answers to the same task and decide which one is better.\nWhat counts:\n{rubric}"
_DEFAULT_RUBRIC = "- how helpful, correct and relevant the answer is, and whether it follows the task"


class PairwiseJudge(ChatJudge):
    """Asks a chat model which of two answers is better: A, B or TIE."""

    kind = PAIRWISE
    supports = frozenset({"prompt_variant", "slot_names"})

    def __init__(
        self,
        model: BaseChatModel,
        *,
        criteria: CriteriaLike | None = None,
        **options: Unpack[JudgeOptions],
    ) -> None:
        """Prepare.

        Args:
            model: any chat model.
            criteria: what counts, as a name, names, or name -> description.
            options: see `JudgeOptions`.

        """
        criterion, rubric = one_criterion(criteria, _DEFAULT_RUBRIC)
        super().__init__(
            model, [Criterion(name=criterion, labels=PAIRWISE.labels)], _INSTRUCTIONS.format(rubric=rubric), options
        )

    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        verdict = {"type": "string", "enum": [*slots, "TIE"], "description": "The better answer, or TIE."}
        return object_schema("PairwiseVerdict", {"reasoning": REASONING_PROPERTY, "verdict": verdict})

    def _verdict_format(self, slots: tuple[str, str]) -> str:
        return f"{slots[0]}, {slots[1]} or TIE"

    def _grammar(self, slots: tuple[str, str]) -> Grammar:
        short = {"A": "A", "B": "B"} if slots == DEFAULT_SLOTS else {}
        return label_grammar({slots[0]: "A", slots[1]: "B", "TIE": "TIE", **short})

    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        verdict = self._grammar(slots).read(str(parsed.get("verdict", "")))
        if verdict is None:
            return None
        return [Answer(criterion=self.criteria[0].name, verdict=verdict, reasoning=reasoning_of(parsed))]

    def _read_text(self, said: str, slots: tuple[str, str], reasoning: str) -> Reading:
        verdict = self._grammar(slots).word(said)
        return (
            None if verdict is None else [Answer(criterion=self.criteria[0].name, verdict=verdict, reasoning=reasoning)]
        )
