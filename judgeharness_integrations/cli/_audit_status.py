"""What `judgeharness audit DIR --status` prints: how far annotators are, how far they agree, and the noise rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from judgeharness_integrations.audit.assigning import Assignment, read_assignment
from judgeharness_integrations.audit.consensus import Labels
from judgeharness_integrations.audit.labels import read_labels
from judgeharness_integrations.audit.noiserate import AuditedSlice, NoiseRate, noise_rate
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, percent, safe, table

__all__ = ["print_status", "status_document"]

_LABELS = ("clean", "ambiguous", "noise")


def print_status(folder: BenchmarkFolder, *, as_json: bool = False) -> None:
    """Print what stands in a benchmark's folder of people's labels."""
    folder.check()
    labels, assignment = read_labels(folder.path), read_assignment(folder.path)
    rejected = {pair.pair_id for pair in folder.pairs() if pair.state == "rejected"}
    found = noise_rate(labels, assignment, rejected=rejected)
    document = status_document(labels, assignment, found)
    if as_json:
        print_json(document)
        return
    screen = console()
    if document["annotators"]:
        columns = ("annotator", "done", "assigned", *_LABELS, "beyond the\nassigned")
        screen.print(table("annotators", columns, map(_cells, document["annotators"])))
    else:
        screen.print("nobody labelled anything and nothing is assigned: judgeharness audit DIR --assign NAMES")
    if found.agreement:
        rows: list[list[str | Text]] = [
            [*map(safe, pair.annotators), str(pair.items), percent(pair.agreed / pair.items), _kappa(pair.kappa)]
            for pair in found.agreement
        ]
        screen.print(
            table("agreement of annotators", ("annotator", "annotator", "pairs", "agreed %", "kappa"), rows, texts=2)
        )
    for line in _lines(found, assignment):
        screen.print(line, soft_wrap=True)


def status_document(labels: Labels, assignment: Assignment | None, found: NoiseRate) -> dict[str, Any]:
    """Return it as JSON (`judgeharness.audit_status/1`)."""
    bundles = {} if assignment is None else assignment.bundles
    return {
        "schema": "judgeharness.audit_status/1",
        "annotators": [
            _annotator(name, labels, bundles.get(name) if assignment is not None else None)
            for name in sorted({*bundles, *labels})
        ],
        "assignment": None
        if assignment is None
        else {"seed": assignment.seed, "pool": assignment.pool, "overlap": assignment.overlap},
        **found.to_dict(),
    }


def _annotator(name: str, labels: Labels, bundle: tuple[str, ...] | None) -> dict[str, Any]:
    """Return how far somebody is; `assigned` and `done` are None where nothing is assigned to them."""
    mine = {pair_id: said.label for pair_id, said in labels.get(name, {}).items() if said.label is not None}
    counts: Counter[str] = Counter(mine.values())
    return {
        "annotator": name,
        "assigned": None if bundle is None else len(bundle),
        "done": None if bundle is None else len(mine.keys() & {*bundle}),
        "beyond": len(mine.keys() - {*(bundle or ())}),
        **{label: counts[label] for label in _LABELS},
    }


def _cells(one: dict[str, Any]) -> list[str | Text]:
    shown = ["-" if one[name] is None else str(one[name]) for name in ("done", "assigned", *_LABELS, "beyond")]
    return [safe(one["annotator"]), *shown]


def _lines(found: NoiseRate, assignment: Assignment | None) -> Iterator[str]:
    if found.uniform is not None and assignment is not None:
        yield (
            f"\nuniform sample, {found.uniform.pairs} of {assignment.pool} pairs: {_counts(found.uniform)}; several "
            f"annotators by {found.rule}"
        )
        if found.uniform.rejected:
            yield f"verification rejected {found.uniform.rejected} of the sample since it was drawn; they stay in it"
        yield f"noise {_rate(found.noise)}; ambiguous {_rate(found.ambiguous)}"
        if found.uniform.unlabelled and found.uniform.labelled:
            yield "the rates are of labelled pairs, which stand for all if they were labelled in the order assigned"
    else:
        yield "\nno noise rate: it needs a uniform sample, which --assign draws"
    if found.suspicious is not None and found.suspicious.pairs:
        yield (
            f"suspicious slice, {found.suspicious.pairs} pairs chosen for what judges said, in no rate: "
            f"{_counts(found.suspicious)}"
        )
    if found.others.pairs:
        yield f"labelled without being assigned, in no rate: {_labels(found.others)}"


def _counts(part: AuditedSlice) -> str:
    return f"{_labels(part)}, {part.unlabelled} not labelled yet"


def _labels(part: AuditedSlice) -> str:
    split = f" ({part.divided} evenly split)" if part.divided else ""
    return f"{part.clean} clean, {part.ambiguous} ambiguous{split}, {part.noise} noise"


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "not known: no pair of the sample is labelled"
    return (
        f"{percent(rate.value)} % [{percent(rate.low)}, {percent(rate.high)}] of {rate.trials} labelled "
        "(95 %, Wilson, over pairs)"
    )


def _kappa(kappa: Any) -> str:
    return "-" if kappa is None else f"{kappa.value:.3f}"
