"""The options of `judgeharness run`, `replay`, `report` and `compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import typer

from judgeharness_integrations._errors import UsageError

from ._command import (
    GateOptions,
    Labels,
    MinValid,
    OnlyCriteria,
    OnlyJudges,
    OnlyRun,
    PlanLimit,
    Scale,
    StepSummary,
    Yes,
    command,
    ends_of,
)


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """What a run may spend; None leaves a limit to the configuration."""

    max_calls: PlanLimit = None
    budget_calls: Annotated[
        int | None, typer.Option(help="End the run after so many calls, retries included.", min=1)
    ] = None
    budget_tokens: Annotated[int | None, typer.Option(help="End the run after so many tokens.", min=1)] = None
    budget_cost: Annotated[float | None, typer.Option(help="End the run after so much money, by the key prices.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Measure judges on cases as a configuration says: plan and cost first, then every answer as a row.

    The same command again goes on with a run that was cut off; nothing that is in its log is asked twice.
    """

    config: Annotated[Path, typer.Argument(help="A configuration: .yaml, .toml or .json.")]
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for verdicts.jsonl, results.jsonl, summary.json.",
            show_default="the key out, else judgeharness-out beside CONFIG",
        ),
    ] = None
    log: Annotated[
        str | None,
        typer.Option(
            help="Log to write to: a .sqlite path, or postgresql+psycopg://... for runs several machines share.",
            envvar="JUDGEHARNESS_LOG",
            show_default="the key log, else verdicts.sqlite in the folder",
        ),
    ] = None
    run: Annotated[str | None, typer.Option("--run", help="Run to go on with, or the name of a new one.")] = None
    limits: RunLimits = field(default_factory=RunLimits)
    engine: Annotated[
        Literal["local", "ray", "batch"] | None,
        typer.Option(
            help="Where judges are asked from; batch: by their provider's batch endpoint, at half the price.",
            show_default="the key execution.engine",
        ),
    ] = None
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--no-wait",
            help="Of batches: wait for their answers, or end with exit code 4; the same command collects them.",
        ),
    ] = True
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel the open batches of the run, and keep what they had answered.")
    ] = False
    yes: Yes = False
    new_run: Annotated[
        bool, typer.Option("--new-run", help="Begin a new run; answers of earlier ones that still fit are re-used.")
    ] = False
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Take no answers of other runs: every sample is asked for anew.")
    ] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write into a folder that holds something else.")] = (
        False
    )
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json; progress and plan go to stderr.")] = False
    until: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Gate METRIC OP VALUE: ask cases in random order until the evidence settles it, for or against; exit "
            "code 1 unless it is for it. May be given several times; no other gates beside it."
        ),
    ] = ()
    gates: GateOptions = field(default_factory=GateOptions)
    step_summary: StepSummary = True


run = command(RunRequest, "judgeharness_integrations.cli.run:run_config")


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """Show a run or any verdict log: as a page, for a pull request, a CI server or a spreadsheet. Nothing is asked."""

    where: Annotated[
        str,
        typer.Argument(
            metavar="RUN_OR_LOG",
            help="Folder of a run, a verdict log (.sqlite, .parquet, .csv or .jsonl, also .gz), or postgresql+psycopg://...",
        ),
    ]
    rule: Annotated[
        str | None, typer.Option(help="How to fold a log, as majority, or module:function. A run has its rule.")
    ] = None
    run: Annotated[str | None, typer.Option(help="The run of a log that holds several.")] = None
    judges: OnlyJudges = ()
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label, numbers too.")] = (
        False
    )
    min_valid: Annotated[
        int | None, typer.Option(help="Valid samples a verdict needs, of a log.", show_default="half of a case's rows")
    ] = None
    tolerance: Annotated[
        float | None, typer.Option(help="How far two scores lie apart and still agree, of a log.", show_default="1.0")
    ] = None
    html: Annotated[str | None, typer.Option(help="Write one HTML page there; - is standard output.")] = None
    markdown: Annotated[str | None, typer.Option(help="Write Markdown for GitHub there, or to -.")] = None
    junit: Annotated[str | None, typer.Option(help="Write JUnit XML there, or to -.")] = None
    csv: Annotated[
        str | None, typer.Option(help="Write a table with a line a judge, case and criterion there, or to -.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.report/1).")] = False
    results: Annotated[bool, typer.Option("--results", help="With --json: every case's result as well.")] = False
    cases: Annotated[Path | None, typer.Option(help="The cases (.csv, .jsonl), whose texts the report then shows.")] = (
        None
    )
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Of a run: show the texts of its cases, or leave them out.")
    ] = True
    annotations: Annotated[Path | None, typer.Option(help="People's labels, for the alternative annotator test.")] = (
        None
    )
    humans: Annotated[
        tuple[str, ...],
        typer.Option(help="Annotators in --annotations: names, comma lists, patterns as 'annotator_*'."),
    ] = ()
    epsilon: Annotated[float, typer.Option(help="What the judge is allowed for being cheaper than people.")] = 0.2
    on_abstain: Annotated[
        Literal["failure", "skipped", "passed"], typer.Option(help="What an abstention is in JUnit XML.")
    ] = "failure"
    every: Annotated[
        bool, typer.Option("--all", help="Every case, and what is folded away, at a terminal and in Markdown.")
    ] = False
    step_summary: StepSummary = True
    gates: GateOptions = field(default_factory=GateOptions)


report = command(ReportRequest, "judgeharness_integrations.cli.report:make_report")


@dataclass(frozen=True, kw_only=True)
class CompareRequest:
    """Compare two runs case by case: what changed, and is it more than the judge's own noise? Nothing is asked."""

    run_a: Annotated[Path, typer.Argument(help="The earlier run's folder, or a verdict log with --rule.")]
    run_b: Annotated[Path, typer.Argument(help="The later one; may be the same log.")]
    rule: Annotated[str | None, typer.Option(help="How to fold logs, as supermajority(2/3); runs have theirs.")] = None
    judges: OnlyJudges = ()
    criteria: OnlyCriteria = ()
    name_a: Annotated[str | None, typer.Option("--run-a", help="Which run of RUN_A, when a log holds several.")] = None
    name_b: Annotated[str | None, typer.Option("--run-b", help="Which run of RUN_B.")] = None
    judge_a: Annotated[str | None, typer.Option(help="Compare this judge of RUN_A ...")] = None
    judge_b: Annotated[str | None, typer.Option(help="... with this judge of RUN_B, or of the same log.")] = None
    measure: Annotated[
        Literal["auto", "rate", "gold"],
        typer.Option(help="What is tested: decisions against gold labels, or rates and means without them."),
    ] = "auto"
    detect: Annotated[float, typer.Option(help="How many cases would find a change of this size?")] = 0.05
    alpha: Annotated[float, typer.Option(help="Level of the whole report: false alarms.")] = 0.05
    seed: Annotated[int, typer.Option(help="Of the permutations.", min=0)] = 0
    permutations: Annotated[
        int | None, typer.Option(help="How many.", show_default="2,000 a criterion, at most 10,000", min=1)
    ] = None
    sequential: Annotated[
        bool,
        typer.Option("--sequential", help="Level and intervals hold however often one looks while cases are added."),
    ] = False
    scale: Scale = None
    min_valid: Annotated[
        int | None, typer.Option(help="Valid samples a verdict needs (logs).", show_default="half of a case's rows")
    ] = None
    tolerance: Annotated[float, typer.Option(help="How far a score moves without flipping (logs).")] = 1.0
    fail_on: Annotated[
        Literal["worse", "changed"] | None,
        typer.Option(help="Exit with 1 when anything is worse, or has changed, cannot be told, or is mostly missing."),
    ] = None
    html: Annotated[Path | None, typer.Option(help="Write a page of its own to this file.")] = None
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown to this file; - for standard output.")] = None
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of a log as a label.")] = False
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Of runs: show the texts of flipped cases, or leave them out.")
    ] = True
    every: Annotated[bool, typer.Option("--all", help="List every flipped case, and all details.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.comparison/1).")] = False

    @property
    def sources(self) -> tuple[Path, Path]:
        """What is compared: the earlier one first, as in every pair below."""
        return self.run_a, self.run_b

    @property
    def runs(self) -> tuple[str | None, str | None]:
        """Which runs of the two."""
        return self.name_a, self.name_b

    @property
    def arguments_after(self) -> tuple[str, ...]:
        """The arguments with which `judgeharness report` shows the later run."""
        given = (("--rule", self.rule), ("--run", self.name_b), ("--judge", self.judge_b))
        return (str(self.run_b), *(part for name, value in given if value is not None for part in (name, value)))

    @property
    def judges_paired(self) -> tuple[str | None, str | None]:
        """Which judge of either is compared with which."""
        return self.judge_a, self.judge_b

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of scores.

        Raises:
            UsageError: they are no two numbers, or count for nothing.

        """
        if self.scale is not None and not self.sequential:
            raise UsageError("--scale counts for a sequential comparison alone: add --sequential.")
        return ends_of(self.scale)


compare = command(CompareRequest, "judgeharness_integrations.cli.rank:compare_runs")


@dataclass(frozen=True, kw_only=True)
class ReplayRequest:
    """Fold an existing verdict log with a rule. Nothing is asked."""

    log: Annotated[
        Path,
        typer.Argument(
            help="A verdict log: .sqlite, .parquet, .csv or .jsonl (.gz), or a run's folder.", show_default=False
        ),
    ]
    rule: Annotated[
        str,
        typer.Option(
            help="The rule, as supermajority(2/3), or module:function, or a passport's file.", show_default=False
        ),
    ]
    judges: OnlyJudges = ()
    criteria: OnlyCriteria = ()
    run: OnlyRun = None
    labels: Labels = False
    min_valid: MinValid = None
    tolerance: Annotated[float, typer.Option(help="How far two scores lie apart and still agree.")] = 1.0
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="A saved calibration: does it hold for these decisions, and are the cases like its own?",
            show_default="that of a run's folder",
        ),
    ] = None
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="A saved certificate: decisions that it does not certify abstain.",
            show_default="that of a run's folder",
        ),
    ] = None
    cascade: Annotated[
        Path | None,
        typer.Option(
            help="A saved cascade: which judge decides which case, at what price, and what waits for people.",
            show_default="that of a run's folder",
        ),
    ] = None
    panel: Annotated[
        str | None,
        typer.Option(
            help="A rule over members: the judges as one panel, their errors and cost beside it; --rule decides each.",
        ),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.replay/1).")] = False
    gates: GateOptions = field(default_factory=GateOptions)


def fold_log(request: ReplayRequest) -> int:
    """Fold a log, print the report and return the exit code."""
    from ._replay import replay_log  # noqa: PLC0415 - keeps --help fast

    return replay_log(
        request.log,
        request.rule,
        judges=request.judges or None,
        criteria=request.criteria or None,
        run=request.run,
        labels=request.labels,
        min_valid=request.min_valid,
        tolerance=request.tolerance,
        calibration=request.calibration,
        certificate=request.certificate,
        cascade=request.cascade,
        panel=request.panel,
        as_json=request.as_json,
        gates=request.gates,
    )


replay = command(ReplayRequest, fold_log)
