"""Whom `judgeharness benchmark judge` asks about what: a judge and a mode at a time, known before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.documents.document import Document
from judgeharness_integrations.benchmark.judging.cases import pair_case, side_case
from judgeharness_integrations.benchmark.judging.judges import ConversationJudge, PairJudge
from judgeharness_integrations.benchmark.judging.summary import Mode, Orders
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.chatmodels import ChatModel
from judgeharness_integrations.cli.benchmark._models import ModelFile
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql.log import SqlLog

__all__ = ["Asked", "ModeDesign", "cases_of", "designs_of", "judge_models", "judge_of"]

_POINTWISE_RULE: Final = "majority | median"


@dataclass(frozen=True, kw_only=True)
class ModeDesign:
    """How judges are asked in a mode; `cases` of a pair."""

    mode: Mode
    perturbations: tuple[str, ...]
    repetitions: int
    rule: str
    cases: int

    @property
    def calls(self) -> int:
        """Calls a pair takes."""
        return self.cases * len(self.perturbations) * self.repetitions


def designs_of(mode: str, *, orders: Orders, repetitions: int) -> list[ModeDesign]:
    """Return the designs of `pairwise`, `pointwise` or `both`."""
    both = orders == "both"
    found = [
        ModeDesign(
            mode="pairwise",
            perturbations=("none", "position_swap") if both else ("none",),
            repetitions=repetitions,
            rule="swap_consensus" if both else "majority",
            cases=1,
        ),
        ModeDesign(
            mode="pointwise", perturbations=("none",), repetitions=repetitions, rule=_POINTWISE_RULE, cases=len("AB")
        ),
    ]
    return [design for design in found if mode in (design.mode, "both")]


def judge_models(text: str, models: ModelFile) -> dict[str, ChatModel]:
    """Return judge -> model of a text with commas between models.

    A judge is named as its model was given, an object of a file by its own name: the same in every go, whoever is asked
    besides.

    Raises:
        UsageError: none is named, two judges have one name, or a model cannot be made.

    """
    found: dict[str, ChatModel] = {}
    for spec in (part.strip() for part in text.split(",") if part.strip()):
        model = models.model(spec)
        name = model.name if spec.rpartition(":")[0].endswith(".py") else spec
        if name in found:
            raise UsageError(f"--judges names {name!r} twice: each judge needs a name of its own.")
        found[name] = model
    if not found:
        raise UsageError("--judges names no model: give one or more, as in --judges openai:gpt-4o,openai:gpt-4o-mini.")
    return found


def judge_of(mode: Mode, model: ChatModel, taxonomy: Taxonomy, *, name: str) -> Judge:
    """Return the judge of a mode over a model."""
    kind = PairJudge if mode == "pairwise" else ConversationJudge
    return kind(model, taxonomy, name=name)


def cases_of(mode: Mode, pair: Pair, documents: Mapping[str, Document], *, show_documents: bool) -> list[AnswerCase]:
    """Return the cases a pair makes in a mode."""
    if mode == "pairwise":
        return [pair_case(pair, documents=documents, show_documents=show_documents)]
    return [side_case(pair, side, documents=documents, show_documents=show_documents) for side in ("A", "B")]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One judge in one mode: the pairs it is asked about, and their cases."""

    design: ModeDesign
    judge: Judge
    model: ChatModel
    pairs: Sequence[str]
    cases: Sequence[AnswerCase]

    @property
    def planned(self) -> int:
        """Calls that takes."""
        return len(self.pairs) * self.design.calls

    @cached_property
    def case_ids(self) -> list[str]:
        """The ids of the cases."""
        return [case.case_id for case in self.cases]

    def rows(self, log: SqlLog) -> list[VerdictRow]:
        """Return what the log holds of this, in an order that says nothing of when it came."""
        found = log.of_cases(run=self.design.mode, judge=self.judge.name, case_ids=self.case_ids)
        mine = (row for case_id in self.case_ids for row in found.get(case_id, ()))
        wanted = [
            row
            for row in mine
            if row.perturbation in self.design.perturbations and row.repetition < self.design.repetitions
        ]
        return sorted(wanted, key=lambda row: (row.case_id, row.perturbation, row.repetition))

    def whole(self, rows: Iterable[VerdictRow]) -> list[VerdictRow]:
        """Return the rows of pairs every call about which was answered; of others nothing can be said yet."""
        listed, calls = [row for row in rows if row.outcome != "error"], dict[str, set[tuple[str, str, int]]]()
        for row in listed:
            calls.setdefault(_pair(row), set()).add((row.case_id, row.perturbation, row.repetition))
        return [row for row in listed if len(calls[_pair(row)]) == self.design.calls]

    def unanswered(self, rows: Iterable[VerdictRow]) -> int:
        """Return how many calls failed or were not made."""
        answered = {(row.case_id, row.perturbation, row.repetition) for row in rows if row.outcome != "error"}
        return self.planned - len(answered)


def _pair(row: VerdictRow) -> str:
    return str(row.attributes.get("pair", row.case_id))
