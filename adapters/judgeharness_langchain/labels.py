"""LabelJudge: one label of a taxonomy, or every label that applies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, Unpack

from langchain_core.language_models import BaseChatModel

from judgeharness_integrations.cases import Criterion
from judgeharness_integrations.judging import Answer
from judgeharness_integrations.marks import REASONING_PROPERTY
from judgeharness_integrations.parsing import MARKUP, json_of, label_grammar
from judgeharness_langchain.chat_judge import ChatJudge, JudgeOptions, Reading
from judgeharness_langchain.kinds import LABEL, LABELS
from judgeharness_langchain.rubric import rubric_text
from judgeharness_langchain.structured import object_schema, reasoning_of
from judgeharness_langchain.taxonomy import Taxonomy

__all__ = ["LabelJudge"]

_INSTRUCTIONS = "You classify an answer to a task. The labels and what they mean:\n{rubric}\n{how_many}"
_ONE = "Exactly one label applies: choose the one that fits best."
_SEVERAL = "Any number of labels may apply, also none."


class LabelJudge(ChatJudge):
    """Asks a chat model for a label of a taxonomy.

    With `multiple`, every label is a criterion of its own: PASS where it applies, FAIL where it does not.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        taxonomy: Taxonomy | Mapping[str, str] | str | PathLike[str],
        multiple: bool = False,
        **options: Unpack[JudgeOptions],
    ) -> None:
        """Prepare.

        Args:
            model: any chat model.
            taxonomy: labels with definitions, or the path of a taxonomy file.
            multiple: any number of labels may apply.
            options: see `JudgeOptions`.

        """
        if isinstance(taxonomy, Mapping):
            taxonomy = Taxonomy(labels=dict(taxonomy))
        elif not isinstance(taxonomy, Taxonomy):
            taxonomy = Taxonomy.load(taxonomy)
        self.taxonomy = taxonomy
        self.multiple = multiple
        self.kind = LABELS if multiple else LABEL
        names = tuple(taxonomy.labels)
        rubric = rubric_text(taxonomy.labels)
        each = [Criterion(name=n, description=taxonomy.labels[n], labels=("PASS", "FAIL")) for n in names]
        how_many = _SEVERAL if multiple else _ONE
        super().__init__(
            model,
            each if multiple else [Criterion(name=taxonomy.name, labels=names)],
            _INSTRUCTIONS.format(rubric=rubric, how_many=how_many),
            options,
        )
        self._grammar = label_grammar({label: label for label in names})

    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        del slots
        label = {"type": "string", "enum": list(self.taxonomy.labels)}
        if self.multiple:
            return object_schema(
                "Labels", {"reasoning": REASONING_PROPERTY, "labels": {"type": "array", "items": label}}
            )
        return object_schema("Label", {"reasoning": REASONING_PROPERTY, "label": label})

    def _verdict_format(self, slots: tuple[str, str]) -> str:
        del slots
        if not self.multiple:
            return "the label"
        example = json.dumps(list(self.taxonomy.labels)[:2], ensure_ascii=False)
        return f"the labels as a JSON list, as in {example} or []"

    def _chosen(self, chosen: object, reasoning: str | None) -> Reading:
        if not self.multiple:
            label = self._grammar.read(chosen) if isinstance(chosen, str) else None
            return None if label is None else [Answer(criterion=self.taxonomy.name, verdict=label, reasoning=reasoning)]
        if not isinstance(chosen, list):
            return None
        read = {self._grammar.read(str(label)) for label in chosen}
        if None in read:  # a label that does not exist: what was meant cannot be known
            return None
        return [
            Answer(criterion=label, verdict="PASS" if label in read else "FAIL", reasoning=reasoning)
            for label in self.taxonomy.labels
        ]

    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        del slots
        return self._chosen(parsed.get("labels" if self.multiple else "label"), reasoning_of(parsed))

    def _read_text(self, said: str, slots: tuple[str, str], reasoning: str) -> Reading:
        del slots
        return self._chosen(json_of(said.strip(MARKUP)) if self.multiple else self._grammar.word(said), reasoning)
