"""CriteriaJudge: does one answer meet each of several criteria, asked in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel

from judgeharness_integrations.judging import Answer
from judgeharness_integrations.marks import REASONING_PROPERTY
from judgeharness_integrations.parsing import MARKUP, json_of, label_grammar
from judgeharness_langchain.chat_judge import ChatJudge, JudgeOptions, Reading
from judgeharness_langchain.kinds import CUSTOM_LABELS
from judgeharness_langchain.rubric import CriteriaLike, rubric_text, several_criteria
from judgeharness_langchain.structured import object_schema, reasoning_of

__all__ = ["CriteriaJudge"]

_LABELS = ("PASS", "FAIL")
_WORDS = label_grammar({"PASS": "PASS", "FAIL": "FAIL"})
_INSTRUCTIONS = (
    "You check whether an answer to a task meets each of these criteria:\n{rubric}\nJudge every criterion by itself."
)


class CriteriaJudge(ChatJudge):
    """Asks a chat model for PASS or FAIL on every criterion, in one call; each is a criterion of its own."""

    kind = CUSTOM_LABELS

    def __init__(
        self,
        model: BaseChatModel,
        *,
        criteria: CriteriaLike,
        **options: Unpack[JudgeOptions],
    ) -> None:
        """Prepare.

        Args:
            model: any chat model.
            criteria: a name, names, or name -> description.
            options: see `JudgeOptions`.

        """
        rubric = several_criteria(criteria, labels=_LABELS)
        lines = rubric_text({criterion.name: criterion.description for criterion in rubric})
        super().__init__(model, rubric, _INSTRUCTIONS.format(rubric=lines), options)

    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        del slots
        verdict = {"type": "string", "enum": list(_LABELS)}
        verdicts = object_schema("Verdicts", {criterion.name: verdict for criterion in self.criteria})
        return object_schema("CriteriaVerdicts", {"reasoning": REASONING_PROPERTY, "verdicts": verdicts})

    def _verdict_format(self, slots: tuple[str, str]) -> str:
        del slots
        if len(self.criteria) == 1:
            return "PASS or FAIL"
        example = json.dumps({criterion.name: "PASS or FAIL" for criterion in self.criteria}, ensure_ascii=False)
        return f"PASS or FAIL for each criterion, as one JSON object: {example}"

    def _verdicts(self, verdicts: object, reasoning: str | None) -> Reading:
        """Return one answer a criterion; one that is missing or no PASS or FAIL is unparsed by itself."""
        if not isinstance(verdicts, Mapping):
            return None
        words = {name: _WORDS.read(str(verdicts.get(name, ""))) for name in (c.name for c in self.criteria)}
        return [
            Answer(criterion=name, verdict=word, outcome="unparsed" if word is None else "ok", reasoning=reasoning)
            for name, word in words.items()
        ]

    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        del slots
        return self._verdicts(parsed.get("verdicts"), reasoning_of(parsed))

    def _read_text(self, said: str, slots: tuple[str, str], reasoning: str) -> Reading:
        del slots
        first, *others = self.criteria
        if others:
            return self._verdicts(json_of(said.strip(MARKUP)), reasoning)
        word = _WORDS.word(said)
        return None if word is None else [Answer(criterion=first.name, verdict=word, reasoning=reasoning)]
