"""The options of `calibrate`, `certify`, `corrected-rate`, `plan`, `scan`, `migrate`, `selftest` and `adapters`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

import typer

from ._command import (
    SEVERAL,
    ClusterColumn,
    Exclude,
    Labels,
    LabelSet,
    LabelSource,
    Ledger,
    OnlyRun,
    WhichJudge,
    Yes,
    command,
)


@dataclass(frozen=True, kw_only=True)
class CalibrateRequest:
    """Measure a rule against labels: CONFIG --labels FILE --out FILE asks, --log LOG --rule RULE does not.

    With the CONFIG that LOG was run with, instead of --rule, the calibration stands behind later runs of it.

    The intervals of the best of several candidates hold for all of them: candidates are counted beside the labels.
    With --holdout one is chosen on one part of the labels, and measured on the other.

    With --check OLD.json instead of --out: has the judge drifted since OLD.json was measured? Only its anchors are
    asked about. Exit code 1: drifted.
    """

    config: Annotated[
        Path | None,
        typer.Argument(
            help="A configuration whose judge is asked about the labelled cases; with --log, the one LOG was run with."
        ),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option("--labels", "--gold", help="Cases with a gold column; with --log, case_id and gold are enough."),
    ] = None
    log: Annotated[
        Path | None, typer.Option(help="A verdict log or a run's folder, with gold or with --labels: nobody is asked.")
    ] = None
    rule: Annotated[str | None, typer.Option(help="The rule to measure (with --log).")] = None
    out: Annotated[Path | None, typer.Option(help="Where to save the calibration.")] = None
    judge: WhichJudge = None
    run: Annotated[str | None, typer.Option(help="Only this run of the log (with --log).", show_default="all")] = None
    name: LabelSet = None
    source: LabelSource = None
    positive: Annotated[str | None, typer.Option(help="The label precision and recall are about.")] = None
    max_calls: Annotated[int | None, typer.Option(help="Upper limit for calls, retries included.")] = None
    by: Annotated[
        tuple[str, ...],
        typer.Option(help=f"A column of strata, whose rates are told and tested; {SEVERAL}: strata of them together."),
    ] = ()
    plot: Annotated[Path | None, typer.Option(help="A folder for the risk-coverage curve (PNG and SVG).")] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Judges, prompts and rules tried on these labels in all, of which one is chosen.",
            show_default="as many as the ledger knows",
        ),
    ] = None
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Share of the labelled cases to hold back, as 0.5: without --final the others are measured, to "
            "choose on."
        ),
    ] = None
    ledger: Ledger = None
    check: Annotated[Path | None, typer.Option(help="A saved calibration: has the judge drifted since?")] = None
    anchors: Annotated[int | None, typer.Option(help="Cases of it to look at again.", show_default="50")] = None
    margin: Annotated[float | None, typer.Option(help="Change that a stable judge may show.", show_default="0.1")] = (
        None
    )
    alpha: Annotated[float | None, typer.Option(help="Level of the test for drift.", show_default="0.05")] = None
    history: Annotated[
        Path | None, typer.Option(help="Where checks are added to.", show_default="CHECK.history.jsonl beside CHECK")
    ] = None
    final: Annotated[
        bool, typer.Option("--final", help="Measure the chosen candidate on what --holdout holds back, once.")
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when the check is inconclusive, too.")] = False
    yes: Yes = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False


calibrate = command(CalibrateRequest, "judgeharness_integrations.cli.calibrate:calibrate_or_check")


@dataclass(frozen=True, kw_only=True)
class CertifyRequest:
    """From which score on decisions agree with people as often as asked for, the others being left to people.

    Of several annotators' labels of a case, as one row each in --labels, agreement is with one drawn at random, and the
    test stays exact; for agreement with their majority give the file that `label --merge` writes.

    With --cascade CHEAP,STRONG the judges of LOG are certified in turn, each on the cases that those before it leave.

    Exit code 1: refused, since these samples and labels cannot show it for any decisions of a criterion or stratum.
    """

    log: Annotated[Path, typer.Argument(help="A verdict log, with gold or with --labels.")]
    agreement: Annotated[float, typer.Option(help="How often certified decisions have to agree with labels.")] = 0.9
    delta: Annotated[float, typer.Option(help="1 - confidence.")] = 0.1
    rule: Annotated[
        str | None, typer.Option(help="The rule that decides.", show_default="the configuration's, majority | median")
    ] = None
    config: Annotated[
        Path | None, typer.Option(help="The configuration LOG was run with: the certificate holds for it.")
    ] = None
    score: Annotated[
        str, typer.Option(help="How sure a decision is: consistency, margin, probability or column:NAME.")
    ] = "consistency"
    tolerance: Annotated[float, typer.Option(help="How far scores may lie from the label and still agree.")] = 1.0
    by: Annotated[
        tuple[str, ...],
        typer.Option(help=f"A column of strata, each with a threshold of its own; {SEVERAL}: strata of them together."),
    ] = ()
    cluster: ClusterColumn = None
    labels: Annotated[
        Path | None, typer.Option("--labels", "--gold", help="A file with case_id and gold, instead of LOG's.")
    ] = None
    judge: WhichJudge = None
    cascade: Annotated[
        tuple[str, ...], typer.Option(help=f"Judges that are asked in turn, the cheapest first; {SEVERAL}.")
    ] = ()
    criterion: Annotated[
        str | None, typer.Option(help="What the cascade decides.", show_default="the only one of LOG")
    ] = None
    run: OnlyRun = None
    name: LabelSet = None
    source: LabelSource = None
    out: Annotated[Path | None, typer.Option(help="Where to save the certificate; a refusal is not.")] = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many judges, rules, scores or strata were tried on these labels.", show_default="those counted"
        ),
    ] = None
    ledger: Ledger = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.certificate/1).")] = False


certify = command(CertifyRequest, "judgeharness_integrations.cli.certify:certify_log")


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The way in without a log."""

    passed: Annotated[int | None, typer.Option(help="Items judged positive, without a LOG.", show_default=False)] = None
    of: Annotated[int | None, typer.Option(help="Items judged, abstentions included.", show_default=False)] = None
    sensitivity: Annotated[
        str | None, typer.Option(help="Positive labelled items judged positive, as 180/200.", show_default=False)
    ] = None
    specificity: Annotated[
        str | None, typer.Option(help="Other labelled items not judged positive, as 140/200.", show_default=False)
    ] = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{part.name}" for part in fields(self) if getattr(self, part.name) is not None]


@dataclass(frozen=True, kw_only=True)
class CorrectedRateRequest:
    """Correct a judged rate with labels: LOG --rule RULE, with --gold or --calibration FILE, or counts."""

    log: Annotated[
        Path | None,
        typer.Argument(
            help="A verdict log, or a run's folder, whose decisions are to be corrected.", show_default=False
        ),
    ] = None
    rule: Annotated[str | None, typer.Option(help="The rule that decides (with LOG).", show_default=False)] = None
    judge: WhichJudge = None
    criterion: Annotated[
        str | None, typer.Option(help="Which criterion, when there are several.", show_default=False)
    ] = None
    positive: Annotated[
        str | None, typer.Option(help="The label whose rate is asked for.", show_default="PASS of PASS and FAIL")
    ] = None
    calibration: Annotated[
        Path | None,
        typer.Option(help="A saved calibration whose errors are used, instead of gold in LOG.", show_default=False),
    ] = None
    gold: Annotated[
        Path | None, typer.Option(help="A file with case_id and gold, instead of gold in LOG.", show_default=False)
    ] = None
    cluster: ClusterColumn = None
    counts: Counts = field(default_factory=Counts)
    labels_are: Annotated[
        str | None,
        typer.Option(
            help="random: labelled items are a random sample of the items; other-mix: they come from elsewhere.",
            show_default="undeclared: nothing is chosen",
        ),
    ] = None
    labels: Labels = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.corrected_rate/1).")] = False


corrected_rate = command(CorrectedRateRequest, "judgeharness_integrations.cli._corrected_rate:print_measured")


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """How many cases, samples and labels it takes for what report and compare print, and its cost. Nothing is asked."""

    config: Annotated[
        Path | None, typer.Argument(help="A configuration: its cases, perturbations, repetitions.", show_default=False)
    ] = None
    pilot: Annotated[
        Path | None,
        typer.Option(help="A log, or a run's folder, with repetitions or perturbations.", show_default=False),
    ] = None
    judge: Annotated[
        str | None,
        typer.Option(help="Which judge of the pilot; a pattern (GPT-4/*): several, its prompts.", show_default=False),
    ] = None
    criterion: Annotated[str | None, typer.Option(help="Which criterion of the pilot.", show_default=False)] = None
    variance: Annotated[
        str | None,
        typer.Option(help="Instead of a pilot: variance between CASES,PERTURBATIONS,REPETITIONS.", show_default=False),
    ] = None
    width: Annotated[
        float | None, typer.Option(help="Wanted width of the 95 % interval that report prints.", show_default="0.1")
    ] = None
    difference: Annotated[
        float | None,
        typer.Option(help="Or: difference between two systems that compare is to find.", show_default=False),
    ] = None
    rule: Annotated[
        str | None,
        typer.Option(
            help="Rule of the decisions.", show_default="the configuration's, the pilot's, majority or median"
        ),
    ] = None
    assurance: Annotated[float, typer.Option(help="Share of studies that are to reach the goal.")] = 0.8
    correlation: Annotated[
        float, typer.Option(help="Assumed correlation of two systems over cases; 0 if each was asked once.")
    ] = 0.5
    rate: Annotated[float, typer.Option(help="Anticipated agreement, precision or sensitivity, for the labels.")] = 0.8
    sensitivity: Annotated[
        float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)
    ] = None
    specificity: Annotated[
        float | None, typer.Option(help="Of the judge, for a corrected rate.", show_default=False)
    ] = None
    cases: Annotated[int | None, typer.Option(help="Cases at hand.", show_default=False)] = None
    perturbations: Annotated[int | None, typer.Option(help="How many; several are tried else.", show_default=False)] = (
        None
    )
    budget: Annotated[int | None, typer.Option(help="Calls that may be made.", show_default=False)] = None
    price: Annotated[float | None, typer.Option(help="Price of a call.", show_default=False)] = None
    labels: Annotated[
        Literal["none", "executable", "human"] | None,
        typer.Option(help="Where labels could come from.", show_default=False),
    ] = None
    certify: Annotated[
        float | None,
        typer.Option(
            help="Or: what a certificate of this agreement takes, by a labelled pilot; a width if it is named.",
            show_default=False,
        ),
    ] = None
    delta: Annotated[float, typer.Option(help="1 - confidence of the certificate.")] = 0.1
    candidates: Annotated[
        int | None,
        typer.Option(help="Judges, rules, ... of which one is certified on the same labels.", show_default="1"),
    ] = None
    by: Annotated[
        tuple[str, ...],
        typer.Option(help=f"Of --certify: a column of strata, each certified; {SEVERAL}.", show_default=False),
    ] = ()
    expected: Annotated[
        bool,
        typer.Option(
            "--expected",
            help="Take a pilot for certain: .22 to .66 of studies then meet a width; without a pilot about half.",
        ),
    ] = False
    every: Annotated[bool, typer.Option("--all", help="Add how many samples decide, and what gates take.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.plan/1).")] = False

    @property
    def assured(self) -> float | None:
        """The share of studies that are to reach the goal; None where the pilot is taken for certain."""
        return None if self.expected else self.assurance

    @property
    def names_goal(self) -> bool:
        """Whether a width, a difference or a corrected rate is asked for by name; a width of .1 is planned for else."""
        return (self.width, self.difference, self.sensitivity) != (None, None, None)


plan = command(PlanRequest, "judgeharness_integrations.cli._plan:print_plan")


_PARSER = "judgeharness_integrations.migration.modules:check_parser"  # both commands read sources with libcst
_CODES = "; several, with commas or the option given again."


@dataclass(frozen=True, kw_only=True)
class ScanRequest:
    """Find single-call judges in Python files and ADK configs. Nothing is executed, imported or asked.

    Exits with 1 on findings. `# noqa: JH002` hides one, `# judgeharness: noqa` a file; [tool.judgeharness.scan] of
    the first path's nearest pyproject.toml has select, ignore, exclude and per-file-ignores.
    """

    paths: Annotated[
        tuple[Path, ...],
        typer.Argument(
            metavar="[PATH]...", help="Python files, ADK configs, folders; the working directory by default."
        ),
    ] = (Path(),)
    select: Annotated[tuple[str, ...], typer.Option(help=f"Only these codes or prefixes (JH00){_CODES}")] = ()
    ignore: Annotated[tuple[str, ...], typer.Option(help=f"Not these codes or prefixes{_CODES}")] = ()
    exclude: Exclude = ()
    output: Annotated[Literal["text", "json", "sarif"], typer.Option("--format", help="How findings are written.")] = (
        "text"
    )
    statistics: Annotated[bool, typer.Option("--statistics", help="Count findings by code, without listing.")] = False
    explain: Annotated[str | None, typer.Option(metavar="CODE", help="Say what a rule finds and why.")] = None
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules.")] = False
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 in spite of findings.")] = False


scan = command(ScanRequest, "judgeharness_integrations.cli.scan:scan_code", needs=_PARSER)


@dataclass(frozen=True, kw_only=True)
class MigrateRequest:
    """Put the judges in your code under a harness: a diff, and the calls it will cost. Nothing is asked.

    LangChain evaluators, openevals judges, LangSmith evaluators and ADK metrics are wrapped; judges written by hand are
    listed. Formatting and comments stay as they are.
    """

    paths: Annotated[tuple[Path, ...], typer.Argument(metavar="PATH...", help="Python files, ADK configs, folders.")]
    level: Annotated[
        Literal["single", "measured"],
        typer.Option(
            help="single: one call a case, the same verdicts; measured: JudgeHarness.standard, also where "
            "single was written earlier."
        ),
    ] = "single"
    exclude: Exclude = ()
    write: Annotated[bool, typer.Option("--write", help="Write the files. Without it nothing is written.")] = False
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if something would change.")] = False
    cases: Annotated[int | None, typer.Option(help="Say what so many cases will cost.", min=1)] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.migrate/1).")] = False


migrate = command(MigrateRequest, "judgeharness_integrations.cli.scan:migrate_paths", needs=_PARSER)


@dataclass(frozen=True, kw_only=True)
class SelftestRequest:
    """Put this product to the test: intervals, faults it must name, rules, workflows. Exit code 1 when one misses."""

    full: Annotated[
        bool, typer.Option("--full", help="Every check at every point, thousands of replicates; takes a night.")
    ] = False
    only: Annotated[tuple[str, ...], typer.Option(help="A part of a name; may be given several times.")] = ()
    seed: Annotated[int, typer.Option(help="Of the random numbers; the same gives the same report.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.selftest/1).")] = False


selftest = command(SelftestRequest, "judgeharness_integrations.cli.selftest:show_selftest")


@dataclass(frozen=True, kw_only=True)
class AdaptersRequest:
    """List the frameworks: ready, or the pip line that makes them so; --check whether each keeps the harness's laws.

    With --check the exit code is 1 when an adapter fails a check or cannot be loaded.
    """

    name: Annotated[str | None, typer.Argument(help="Only this adapter.")] = None
    check: Annotated[
        bool, typer.Option("--check", help="Run the conformance suite on scripted models: nothing is asked.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.adapters/1).")] = False


adapters = command(AdaptersRequest, "judgeharness_integrations.cli.adapters:show_adapters")
