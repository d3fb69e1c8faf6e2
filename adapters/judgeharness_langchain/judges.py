"""Judges of our own: which of two answers is better, a score, labels of a taxonomy, several criteria."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from langchain_core.language_models import BaseChatModel

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.judge import Answer
from judgeharness_integrations.judging.marks import REASONING_PROPERTY
from judgeharness_integrations.judging.parsing import MARKUP, Grammar, json_of, label_grammar, score_grammar
from judgeharness_integrations.judging.questions import DEFAULT_RUBRIC, DEFAULT_SLOTS
from judgeharness_integrations.verdictlog.row import Verdict

from .chatjudge import ChatJudge, JudgeOptions, Reading
from .kinds import CUSTOM_LABELS, LABEL, LABELS, PAIRWISE, SCORE
from .models import object_schema, reasoning_of


@dataclass(frozen=True, kw_only=True)
class Taxonomy:
    """Labels with definitions; `name` is the criterion a single label answers."""

    labels: Mapping[str, str]
    name: str = "label"

    def __post_init__(self) -> None:
        """Refuse a taxonomy that leaves nothing to choose."""
        if not self.labels or not all(isinstance(name, str) and name.strip() for name in self.labels):
            raise ConfigError(f"taxonomy {self.name!r} needs labels, each with a non-empty name.")

    @classmethod
    def of(cls, given: Taxonomy | Mapping[str, str] | str | PathLike[str]) -> Taxonomy:
        """Return a taxonomy: itself, one of label -> definition, or that of a file."""
        if isinstance(given, Mapping):
            return cls(labels=dict(given))
        return given if isinstance(given, Taxonomy) else cls.load(given)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Taxonomy:
        """Read a YAML or JSON file: `{name: ..., labels: {label: definition}}`, or just `{label: definition}`.

        Raises:
            ConfigError: the file cannot be read or has another form.

        """
        try:
            data: Any = load_yaml(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"taxonomy {path} cannot be read ({error}).") from error
        if not isinstance(data, Mapping):
            raise ConfigError(f"taxonomy {path} is not a mapping of labels to definitions.")
        labels = data["labels"] if isinstance(data.get("labels"), (Mapping, list)) else data
        if isinstance(labels, list):
            labels = dict.fromkeys(labels, "")
        name = str(data.get("name", Path(path).stem)) if labels is not data else Path(path).stem
        return cls(labels={str(label): str(text or "") for label, text in labels.items()}, name=name)


CriteriaLike: TypeAlias = "str | Criterion | Mapping[str, str] | Sequence[str | Criterion | Mapping[str, Any]]"


def several_criteria(criteria: CriteriaLike, *, labels: tuple[str, ...] | None) -> tuple[Criterion, ...]:
    """Return criteria of a name, names, or a mapping name -> description, each with these labels, or its own for None.

    Raises:
        UsageError: there is none, a name occurs twice, or they are something else.

    """
    if isinstance(criteria, (str, Criterion)):
        criteria = [criteria]
    if not isinstance(criteria, Iterable):
        raise UsageError(f"criteria are a name, names, or name -> description, not {type(criteria).__name__}.")
    if isinstance(criteria, Mapping):
        found = [Criterion(name=str(name), description=str(text)) for name, text in criteria.items()]
    else:
        found = [_criterion(one) for one in criteria]
    names = [criterion.name for criterion in found]
    if not found or len(set(names)) != len(names) or not all(names):
        raise UsageError(f"criteria need at least one name, each once: found {names}.")
    return tuple(found if labels is None else (replace(criterion, labels=labels) for criterion in found))


def _criterion(given: object) -> Criterion:
    """Return a criterion: itself, one of its name, or of a mapping with name, description, labels and scale."""
    if isinstance(given, Criterion):
        return given
    if not isinstance(given, Mapping):
        return Criterion(name=str(getattr(given, "value", given)))
    known = ("name", "description", "labels", "scale")
    for name in given:
        if name not in known:
            raise UnknownNameError("key of a criterion", str(name), known)
    told: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in given.items()}
    return Criterion(**{"name": "", **told})


def one_criterion(criteria: CriteriaLike | None, default: str) -> tuple[str, str]:
    """Return (name, description) of the one question that stands for several criteria judged together."""
    if criteria is None:
        return "verdict", default
    several = several_criteria(criteria, labels=())
    return "-".join(c.name for c in several), rubric_text({c.name: c.description for c in several})


def rubric_text(descriptions: Mapping[str, str]) -> str:
    """Return the lines a prompt shows for name -> description."""
    return "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in descriptions.items())


_INSTRUCTIONS = "You compare two answers to the same task and decide which one is better.\nWhat counts:\n{rubric}"
_DEFAULT_RUBRIC = f"- {DEFAULT_RUBRIC}"


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


_SCORE_INSTRUCTIONS = (
    "You rate one answer to a task with a whole number from {low} (worst) to {high} (best).\nWhat counts:\n{rubric}"
)


def ends_of(scale: object) -> tuple[int, int]:
    """Return the two ends of a scale; a bool is no number here."""
    ends = list(scale) if isinstance(scale, (tuple, list)) else []
    if len(ends) != 2 or not all(type(end) is int for end in ends):  # noqa: PLR2004 - a pair
        raise UsageError(
            f"a scale is two whole numbers, as in (1, 10), not {scale!r}; normalize_by divides its scores."
        )
    if ends[0] >= ends[1]:
        raise UsageError(f"a scale goes from a lower to a higher number, not {scale!r}.")
    return ends[0], ends[1]


def _is_divisor(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


class ScoreJudge(ChatJudge):
    """Asks a chat model for a whole number on a scale, 1 to 10 by default."""

    kind = SCORE

    def __init__(
        self,
        model: BaseChatModel,
        *,
        criteria: CriteriaLike | None = None,
        scale: tuple[int, int] = (1, 10),
        normalize_by: float | None = None,
        **options: Unpack[JudgeOptions],
    ) -> None:
        """Prepare.

        Args:
            model: any chat model.
            criteria: what counts, as a name, names, or name -> description.
            scale: lowest and highest score, both included.
            normalize_by: what scores are divided by.
            options: see `JudgeOptions`.

        """
        low, high = ends_of(scale)
        if normalize_by is not None and not _is_divisor(normalize_by):
            raise UsageError(f"normalize_by is a number above 0, not {normalize_by!r}.")
        criterion, rubric = one_criterion(criteria, _DEFAULT_RUBRIC)
        divisor = normalize_by or 1
        super().__init__(
            model,
            [Criterion(name=criterion, scale=(low / divisor, high / divisor))],
            _SCORE_INSTRUCTIONS.format(low=low, high=high, rubric=rubric),
            options,
        )
        self.scale = (low, high)
        self.normalize_by = normalize_by
        self._grammar = score_grammar(low, high)
        self.kind = replace(SCORE, grammar=self._grammar)

    def _schema(self, slots: tuple[str, str]) -> dict[str, Any]:
        del slots
        score = {"type": "integer", "enum": list(range(self.scale[0], self.scale[1] + 1)), "description": "The score."}
        return object_schema("Score", {"reasoning": REASONING_PROPERTY, "score": score})

    def _verdict_format(self, slots: tuple[str, str]) -> str:
        del slots
        return f"the score, a whole number from {self.scale[0]} to {self.scale[1]}"

    def _scored(self, token: str, reasoning: str | None) -> Reading:
        score: Verdict | None = self._grammar.read(token)
        if not isinstance(score, int):
            return None
        verdict = score / self.normalize_by if self.normalize_by else score
        return [Answer(criterion=self.criteria[0].name, verdict=verdict, reasoning=reasoning)]

    def _read_structured(self, parsed: Mapping[str, Any], slots: tuple[str, str]) -> Reading:
        del slots
        score = parsed.get("score")
        if isinstance(score, float) and score.is_integer():  # JSON of some models writes 8 as 8.0
            score = int(score)
        return None if isinstance(score, bool) else self._scored(str(score), reasoning_of(parsed))

    def _read_text(self, said: str, slots: tuple[str, str], reasoning: str) -> Reading:
        del slots
        score = self._grammar.word(said)
        return None if score is None else self._scored(str(score), reasoning)


_LABELS_INSTRUCTIONS = "You classify an answer to a task. The labels and what they mean:\n{rubric}\n{how_many}"
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
        taxonomy = Taxonomy.of(taxonomy)
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
            _LABELS_INSTRUCTIONS.format(rubric=rubric, how_many=how_many),
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


_LABELS = ("PASS", "FAIL")
_WORDS = label_grammar({"PASS": "PASS", "FAIL": "FAIL"})
_CRITERIA_INSTRUCTIONS = (
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
        super().__init__(model, rubric, _CRITERIA_INSTRUCTIONS.format(rubric=lines), options)

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
