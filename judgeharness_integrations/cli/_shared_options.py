"""Options that several commands have, each told once: a request takes them as the types of its fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import typer

from judgeharness_integrations._errors import UnknownNameError

SEVERAL: Final = "may be given several times, or with commas between"
AnswerMode: TypeAlias = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
BenchmarkDir: TypeAlias = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.")]
CutTies: TypeAlias = Annotated[str, typer.Option(help="Pairs tied at the cut: keep or cut them all.")]
Labels: TypeAlias = Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
Unparsed: TypeAlias = Annotated[
    str, typer.Option("--failures", help="Unparsed and refused answers: wrong, or missing as failed calls are.")
]
JsonResult: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON; plan and progress go to stderr.")
]
PairStates: TypeAlias = Annotated[str, typer.Option(help="Pairs in these states: accepted, unverified, rejected.")]
OnlyJudges: TypeAlias = Annotated[
    tuple[str, ...], typer.Option("--judge", help="Only this judge; may be given several times.")
]
OnlyRun: TypeAlias = Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")]
WhichJudge: TypeAlias = Annotated[str | None, typer.Option(help="Which judge, when there are several.")]
Exclude: TypeAlias = Annotated[
    tuple[str, ...],
    typer.Option(help="Leave out files or folders, as build or */generated/*; may be given several times."),
]
LabelSet: TypeAlias = Annotated[
    str | None, typer.Option(help="What reports call the label set.", show_default="the file's name")
]
LabelSource: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Where labels come from: human, executable, model:<name>.", show_default="has to be said"),
]
Ledger: TypeAlias = Annotated[
    Path | None, typer.Option(help="Where candidates are counted (digests alone).", show_default="beside the labels")
]
ClusterColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="A column of LOG: its equal values belong together.", show_default="cluster")
]
MinValid: TypeAlias = Annotated[
    int | None, typer.Option(help="Valid samples a verdict needs.", show_default="half of a case's rows")
]
OnlyCriteria: TypeAlias = Annotated[
    tuple[str, ...], typer.Option("--criterion", help="Only this criterion; may be given several times.")
]
ForTaxonomy: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Failure types and behaviours of yours, as YAML.", show_default="the seven and seven of ours"),
]
OnlyPairs: TypeAlias = Annotated[
    Path | None, typer.Option(help="Only the pairs of sample.json, or of a JSONL file as curated.jsonl.")
]
PlanLimit: TypeAlias = Annotated[int | None, typer.Option(help="Refuse a larger plan; upper limit with retries.")]
PanelLogs: TypeAlias = Annotated[
    tuple[Path, ...],
    typer.Argument(
        metavar="LOG...",
        help="Verdict logs whose judge column names humans and candidates, tables with one row an item and annotator, "
        "or JSON of {annotator: {item: label}}; each also as .gz.",
    ),
]
PanelCriterion: TypeAlias = Annotated[str | None, typer.Option(help="The criterion, where a log has several.")]
PanelCluster: TypeAlias = Annotated[
    str | None, typer.Option(help="The column of what items come from (text, author), where several do.")
]
PanelItem: TypeAlias = Annotated[str | None, typer.Option(help="The column of the item.")]
PanelRater: TypeAlias = Annotated[str | None, typer.Option(help="The column of the annotator.")]
PanelColumns: TypeAlias = Annotated[
    tuple[str, ...], typer.Option(help="The column of labels, or 0/1 columns as a,b or globs.")
]
PlotFolder: TypeAlias = Annotated[Path | None, typer.Option(help="A folder for plots (PNG and SVG).")]
_Name = TypeVar("_Name", bound=str)


def one_of(kind: str, name: str, known: Sequence[_Name]) -> _Name:
    """Return the one of the `known` names that was given.

    Raises:
        UnknownNameError: it is none of them; the nearest is offered.

    """
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownNameError(kind, name, known)


def names_in(given: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, of an option that is repeated, takes commas between names, or both."""
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))
