"""Whom `judgeharness benchmark judge` asks about what: a judge and a mode at a time, known before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

import typer

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.analysis.spending import used
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.judges import ConversationJudge, PairJudge, pair_case, side_case
from judgeharness_integrations.benchmark.pair import Document, Pair, Taxonomy
from judgeharness_integrations.benchmark.results.judgments import (
    FailureKind,
    JudgeDocument,
    JudgeSummary,
    Mode,
    Orders,
    RightShare,
    Took,
    joint_table,
    pair_rows,
)
from judgeharness_integrations.benchmark.taxonomy import chosen_pairs, in_sample, in_states, sampled_ids, states_named
from judgeharness_integrations.benchmark.verdicts import write_judgments
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.redacting import without_secrets
from judgeharness_integrations.reporting.sections import Block, Table
from judgeharness_integrations.verdictlog.encoding import counted, ends, fixed, percent, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow
from judgeharness_integrations.verdictlog.sql.log import SqlLog

from .._asking import confirm
from .._command import NOT_GRADED, OK, stop_code, stop_word, stoppable, terminable, undisturbed
from .._output import failures, print_json, show, told
from .asking import DecisionModel, JudgeModel, ModelFile, judge_model, read_model_file
from .options import JudgeRequest

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


def judge_models(text: str, models: ModelFile) -> dict[str, JudgeModel]:
    """Return judge -> model of a text with commas between models.

    A judge is named as its model was given, an object of a file by its own name: the same in every go, whoever is asked
    besides.

    Raises:
        UsageError: none is named, two judges have one name, or a model cannot be made.

    """
    found: dict[str, JudgeModel] = {}
    for spec in (part.strip() for part in text.split(",") if part.strip()):
        model = judge_model(spec, models)
        name = model.name if spec.rpartition(":")[0].endswith(".py") else spec
        if name in found:
            raise UsageError(f"--judges names {name!r} twice: each judge needs a name of its own.")
        found[name] = model
    if not found:
        raise UsageError("--judges names no model: give one or more, as in --judges openai:gpt-4o,openai:gpt-4o-mini.")
    return found


def judge_of(mode: Mode, model: JudgeModel, taxonomy: Taxonomy, *, name: str) -> Judge:
    """Return the judge of a mode over a model; a decision model answers the same criteria with probabilities."""
    kind = PairJudge if mode == "pairwise" else ConversationJudge
    if isinstance(model, DecisionModel):
        return model.judge(kind.criteria_of(taxonomy.failure_types), taxonomy, name=name)
    return kind(model, taxonomy, name=name)


def cases_of(mode: Mode, pair: Pair, documents: Mapping[str, Document], *, show_documents: bool) -> list[AnswerCase]:
    """Return the cases a pair makes in a mode."""
    if mode == "pairwise":
        return [pair_case(pair, documents=documents, show_documents=show_documents)]
    return [side_case(pair, side, documents=documents, show_documents=show_documents) for side in ("A", "B")]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One judge in one mode: the pairs it is asked about, and their cases."""

    design: ModeDesign
    judge: Judge
    model: JudgeModel
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


def summary_of(asked: Asking, log: SqlLog, models: ModelFile) -> JudgeSummary:
    """Return what a judge said about the pairs it was to be asked about, and what all its answers of the mode took."""
    rows = asked.rows(log)
    whole = asked.whole(rows)
    table = joint_table(pair_rows(whole) if asked.design.mode == "pointwise" else whole)
    cells = list(table.cells.values())
    mine = [usage for usage in log.usage(asked.design.mode) if usage.judge == asked.judge.name]
    took = used(mine, models.prices)
    return JudgeSummary(
        judge=asked.judge.name,
        mode=asked.design.mode,
        pairs=len(asked.pairs),
        planned_calls=asked.planned,
        unanswered_calls=asked.unanswered(rows),
        verdict=_right(cell.verdict.correct for cell in cells),
        turn=_right(cell.turn.correct for cell in cells),
        type=_right(cell.type.correct for cell in cells),
        joint=_right(cell.joint for cell in cells),
        failures=tuple(FailureKind(**kind) for kind in failures(rows, models.options)),
        took=Took(**{name: took[name] for name in Took.model_fields}),
    )


def _right(hits: Iterable[bool | None]) -> RightShare:
    """Return the share of hits; None, which nothing asked in full should be, is a miss."""
    return RightShare.over(hit is True for hit in hits)


_FOOTNOTES: Final = (
    "pairs: those about which every call was answered; in brackets the 95 % interval",
    "no answer: calls that failed or were not made: missing; unparsed, refused and undecided answers are wrong",
)
_ORDERS: Final[Mapping[Orders, str]] = {
    "both": "both orders, which must agree",
    "one": "one order, informal: what an answer owes to the order a pair is shown in is not seen",
}


def _plan_blocks(asked: Sequence[tuple[Asking, int]], *, pairs: int, request: JudgeRequest) -> Iterator[Block]:
    """Yield who is asked about how many pairs, and how many calls of that are `left` to be made."""
    rows = [
        [one.judge.name, one.design.mode, *map(str, (len(one.pairs), one.planned, one.planned - left, left))]
        for one, left in asked
    ]
    planned, todo = sum(one.planned for one, _ in asked), sum(left for _, left in asked)
    if len(rows) > 1:
        rows.append(["together", "", "", str(planned), str(planned - todo), str(todo)])
    yield Table.of("plan", ("judge", "mode", "pairs", "calls", "answered\nbefore", "left"), rows, texts=2)
    yield from _plan_lines(asked, planned, sum(pairs * one.design.calls for one, _ in asked), request)


def _plan_lines(asked: Sequence[tuple[Asking, int]], planned: int, whole: int, request: JudgeRequest) -> Iterator[str]:
    savers = [] if request.sample is None else [f"--sample {request.sample}"]
    savers += [f"--fraction {request.fraction:g}"] if request.fraction < 1 else []
    if savers:
        saves = f"{' and '.join(savers)} save{'s' if len(savers) == 1 else ''}"
        yield f"{planned} of {whole} calls; {saves} {whole - planned} ({percent((whole - planned) / whole)} %)"
    else:
        yield f"{planned} calls: every judge about every pair"
    for design in {one.design.mode: one.design for one, _ in asked}.values():
        shown = "each conversation by itself" if design.mode == "pointwise" else _ORDERS[request.orders]
        yield f"{design.mode}: {shown}; rule {design.rule}; {counted(design.calls, 'call')} a pair"
    yield request.asking.limit_line


def _summary_blocks(document: JudgeDocument, *, folder: Path) -> Iterator[Block]:
    """Yield what each judge was right about, mode by mode, and what comes next."""
    columns = ("judge", "pairs", "verdict", "turn", "type", "all three", "no\nanswer", "cost")
    for mode, rule in document.rules.items():
        found = [one for one in document.judges if one.mode == mode]
        informal = ", informal" if document.informal and mode == "pairwise" else ""
        yield Table.of(f"{mode}, {rule}{informal}: right, in % of the pairs", columns, map(_row, found))
    for remark in dict.fromkeys(remark for one in document.judges for remark in one.took.cost_remarks):
        yield f"cost: {remark}"
    yield from _FOOTNOTES
    yield f"next: judgeharness benchmark rank {folder}"


def _row(one: JudgeSummary) -> list[str]:
    shares = (one.verdict, one.turn, one.type, one.joint)
    asked = f"{one.joint.of}" if one.joint.of == one.pairs else f"{one.joint.of} of {one.pairs}"
    return [one.judge, asked, *map(_share_text, shares), str(one.unanswered_calls), fixed(one.took.cost, 4)]


def _share_text(share: RightShare) -> str:
    if share.low is None or share.high is None:
        return "-"
    return f"{percent(share.share)}\n{ends((share.low, share.high), 0, scale=100)}"


_ANOTHER = "give the run another name"  # ends what the harness says of answers to other questions


def judge_pairs(request: JudgeRequest) -> int:
    """Ask judges about the pairs of a benchmark, or go on with it, and return the exit code."""
    folder = BenchmarkFolder(request.folder)
    folder.check()
    models = read_model_file(request.asking.models)
    judges = judge_models(request.judges, models)
    budget = request.asking.budget(models.prices)
    for model in judges.values():
        budget.check_price(model.name)
    with folder.held():
        folder.check_documents()
        pairs = in_states(folder.pairs(), states_named(request.states), where=str(folder.path))
        asked = _askings(folder, _sampled(pairs, request.sample), judges, request)
        with folder.log() as log:
            return _Judging(
                request=request, folder=folder, models=models, pairs=len(pairs), asked=asked, budget=budget, log=log
            ).run()


def _sampled(pairs: list[Pair], file: Path | None) -> list[Pair]:
    return pairs if file is None else in_sample(pairs, sampled_ids(file), where=str(file))


def _askings(
    folder: BenchmarkFolder, pairs: Sequence[Pair], judges: Mapping[str, JudgeModel], request: JudgeRequest
) -> list[Asking]:
    """Build everything that is asked: what cannot be is known before the first call."""
    taxonomy, documents = folder.taxonomy(), {document.document_id: document for document in folder.documents()}
    names = [pair.pair_id for pair in pairs]
    found = []
    for design in designs_of(request.mode, orders=request.orders, repetitions=request.repetitions):
        cases = {
            pair.pair_id: cases_of(design.mode, pair, documents, show_documents=not request.no_documents)
            for pair in pairs
        }
        for name, model in judges.items():
            chosen = chosen_pairs(names, judge=name, fraction=request.fraction, seed=request.seed)
            found.append(
                Asking(
                    design=design,
                    judge=judge_of(design.mode, model, taxonomy, name=name),
                    model=model,
                    pairs=chosen,
                    cases=[case for pair_id in chosen for case in cases[pair_id]],
                )
            )
    return found


@dataclass(frozen=True, kw_only=True)
class _Judging:
    """Judges about to be asked; `pairs` is how many could be judged."""

    request: JudgeRequest
    folder: BenchmarkFolder
    models: ModelFile
    pairs: int
    asked: Sequence[Asking]
    budget: Budget
    log: SqlLog
    down: dict[str, None] = field(default_factory=dict)  # why judges that are down were asked nothing more

    def run(self) -> int:
        """Say what it takes, ask, write everything down, and return the exit code."""
        left = [one.unanswered(one.rows(self.log)) for one in self.asked]
        asked = list(zip(self.asked, left, strict=True))
        show(_plan_blocks(asked, pairs=self.pairs, request=self.request), stderr=self.request.as_json)
        if any(left):
            confirm(sum(left), yes=self.request.yes)
        with stoppable(self.budget, JudgeHarnessError) as stop, terminable():
            for one in self.asked:  # also one all of whose answers are known: they are checked
                if not self.budget.exhausted:
                    self._ask_one(one)
        stopped = stop.by
        with undisturbed():
            write_judgments(read_results(self.folder), self.folder)
            if isinstance(stopped, JudgeHarnessError):
                raise stopped
            document = self._document(stopped)
            self._print(document)
        return self._exit_code(document, stopped)

    def _ask_one(self, one: Asking) -> None:
        self.log.set_failed_aside(run=one.design.mode, judge=one.judge.name, case_ids=one.case_ids)
        asking = self.request.asking
        harness = JudgeHarness(
            perturbations=one.design.perturbations,
            repetitions=one.design.repetitions,
            aggregation_rule=one.design.rule,
            max_concurrency=asking.max_concurrency,
            timeout_s=asking.timeout_s,
            max_attempts=asking.max_attempts,
            budget=self.budget,
            log=self.log,
            run=one.design.mode,
            reuse=False,
        )
        try:
            for result in harness.evaluate_many(one.judge, one.cases):  # its rows are in the log
                if result.ended is not None:
                    self.down[safe_text(without_secrets(result.ended, self.models.options))] = None
        except UsageError as error:
            explain_other_questions(error, one.judge.name)
            raise

    def _document(self, stopped: BaseException | None) -> JudgeDocument:
        request = self.request
        state: Literal["complete", "budget_exhausted", "interrupted", "judge_down"] = "complete"
        if stopped is not None:
            state = "interrupted"
        elif self.down:
            state = "judge_down"
        elif self.budget.exhausted:
            state = "budget_exhausted"
        return JudgeDocument(
            state=state,
            budget_reason=self.budget.reason if state == "budget_exhausted" else None,
            pairs=self.pairs,
            states=states_named(request.states),
            sample=None if request.sample is None else str(request.sample),
            fraction=request.fraction,
            seed=request.seed,
            orders=request.orders,
            repetitions=request.repetitions,
            documents=not request.no_documents,
            rules={one.design.mode: one.design.rule for one in self.asked},
            informal=request.orders == "one" and any(one.design.mode == "pairwise" for one in self.asked),
            planned_calls=sum(one.planned for one in self.asked),
            whole_calls=sum(self.pairs * one.design.calls for one in self.asked),
            judges=tuple(summary_of(one, self.log, self.models) for one in self.asked),
        )

    def _print(self, document: JudgeDocument) -> None:
        if self.request.as_json:
            print_json(document.to_dict())
        else:
            show(_summary_blocks(document, folder=self.folder.path))

    def _exit_code(self, document: JudgeDocument, stopped: BaseException | None) -> int:
        """Say on standard error how it ended and why calls failed, and return the exit code."""
        for one in document.judges:
            name = one.judge if len(document.rules) == 1 else f"{one.judge} ({one.mode})"
            for line in told(name, [kind.to_dict() for kind in one.failures]):
                typer.echo(line, err=True)
        left, kept = document.unanswered, "what was answered is kept, and the same command goes on from there."
        of = f"{left} of {document.planned_calls} calls"
        if stopped is not None:
            typer.echo(f"{stop_word(stopped)}: {of} are left; {kept}", err=True)
            return stop_code(stopped)
        if not left:
            return OK
        why = document.budget_reason or "; ".join(self.down)
        reason = f" ({why})" if why else ""
        typer.echo(f"{of} have no answer{reason}: {kept}", err=True)
        return NOT_GRADED


def explain_other_questions(error: UsageError, judge: str) -> None:
    """Let an error that advises another name for the run advise what can be done here, where runs have one name."""
    if _ANOTHER in str(error):
        other = f"judge {judge!r} was asked before with other options, another taxonomy or other documents"
        file = "by another version, or before its file was changed: ask as before, give a changed function another name"
        error.args = (f"{other}, {file}, or judge in a copy of the folder without verdicts.sqlite.",)
