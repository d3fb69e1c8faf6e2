"""What people say about pairs: who labels what, their files of labels, one label of several, and the noise rate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from pydantic import Field

from judgeharness_integrations._errors import CaseError, LogStorageError, UsageError
from judgeharness_integrations.analysis.calibration.rates import Rate, rate_document
from judgeharness_integrations.benchmark.folder import AUDIT, BenchmarkFolder, write_whole
from judgeharness_integrations.benchmark.pair import Record, clean
from judgeharness_integrations.benchmark.taxonomy import drawn_order
from judgeharness_integrations.labelling.labellog import LabelAgreement, LabelFile, append_durably, label_agreement
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from judgeharness_integrations.benchmark.verdicts import Audited, Results

PairLabel: TypeAlias = Literal["clean", "ambiguous", "noise"]
_LABELS: Final = "labels"
_START = b'{"schema": "judgeharness.audit_label/'  # how each of our lines begins
_LONGEST_NAME = 100  # bytes; a file's name takes 255
_NO_NAME = frozenset('/\\:*?"<>|')  # what some system or other keeps out of the names of files
Consensus: TypeAlias = "PairLabel | None"
_RULE: Final = "majority"
_ASSIGNMENT: Final = "assignment.json"


class AuditLabel(Record):
    """One line: what an annotator said about a pair."""

    schema_: Literal["judgeharness.audit_label/1"] = Field(
        default="judgeharness.audit_label/1", alias="schema", description="Name and version of this format."
    )
    pair_id: str = Field(description="The pair.")
    annotator: str = Field(description="Who.")
    label: PairLabel | None = Field(description="What they say of it; null where they took their label back.")
    note: str = Field(default="", description="Their note.")
    sequence: int = Field(ge=1, description="Which line of the annotator it is; of a pair the last one counts.")


class AuditLog:
    """The labels of one annotator, after whom the file is named; lines are added and none is ever changed.

    Any number of threads and processes may use one file: each line is written under a lock and is on the disk when
    `append` returns.
    """

    def __init__(self, path: Path) -> None:
        """Use a file `<annotator>.jsonl`, which may not exist yet.

        Raises:
            UsageError: no annotator can have that name.

        """
        self.path = path
        self.annotator = check_annotator(path.name.removesuffix(".jsonl"))
        self._file = LabelFile(path, start=_START)

    def append(self, pair_id: str, label: PairLabel | None, note: str = "") -> AuditLabel:
        """Write what the annotator says now about a pair, and return the line.

        What a killed process left half written at the end of the file is taken off before.

        Raises:
            CaseError: the file holds something else than labels of this annotator.
            RunBusyError: another process does not let go of the file.
            LogStorageError: it cannot be written; what it held is kept, and nothing else is in it unless the message
                says that this cannot be told.

        """
        with storing_labels(self.path), self._file.held():
            lines = list(self._lines())
            said = AuditLabel(
                pair_id=pair_id,
                annotator=self.annotator,
                label=label,
                note=clean(note),
                sequence=lines[-1].sequence + 1 if lines else 1,
            )
            self._file.mend()
            append_durably(self._file.path, said.to_line().encode("utf-8", LONE_SURROGATES))
        return said

    def lines(self) -> list[AuditLabel]:
        """Return every line, in the order they were written; a half line at the end is none.

        Raises:
            CaseError: the file holds something else than labels of this annotator.

        """
        return list(self._lines())

    def labels(self) -> dict[str, AuditLabel]:
        """Return pair id -> the last line about it, also of one whose label was taken back."""
        return {said.pair_id: said for said in self._lines()}

    def _lines(self) -> Iterator[AuditLabel]:
        for number, line in enumerate(self._file.lines(), start=1):
            where = f"{self.path}, line {number}"
            try:
                data = json.loads(line.decode("utf-8", LONE_SURROGATES))
            except ValueError as error:
                raise CaseError(f"{where} is no JSON ({error}): take the line out, or restore the file.") from error
            said = AuditLabel.from_dict(data, where=where)
            if said.annotator != self.annotator:
                raise CaseError(
                    f"{where} is of {said.annotator!r} in the file of {self.annotator!r}: name each file after its "
                    "annotator."
                )
            yield said


@contextmanager
def storing_labels(path: Path) -> Iterator[None]:
    """Tell in one sentence that a label could not be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise LogStorageError(
            f"the label is not kept: {path} cannot be written ({reason}); make room, or make it writable."
        ) from error


def check_annotator(name: str) -> str:
    """Return the name of an annotator, after whom a file is named.

    Raises:
        UsageError: no file can be named so everywhere.

    """
    stripped = name.strip()
    fits = (
        0 < len(stripped.encode(errors="replace")) <= _LONGEST_NAME
        and stripped.isprintable()
        and not stripped.startswith(".")
        and not stripped.endswith(".")
        and not _NO_NAME & {*stripped}
    )
    if not fits:
        raise UsageError(
            f"an annotator's name is also the name of a file, which {name!r:.60} cannot be: give letters and digits."
        )
    return stripped


def label_log(folder: Path, annotator: str) -> AuditLog:
    """Return the log of an annotator in a benchmark's folder: `audit/labels/<annotator>.jsonl`."""
    return AuditLog(folder / AUDIT / _LABELS / f"{check_annotator(annotator)}.jsonl")


def read_labels(folder: Path) -> dict[str, dict[str, AuditLabel]]:
    """Return annotator -> pair id -> the last line about it, of a benchmark's folder; sorted by annotator.

    A pair whose label was taken back has one that is None.

    Raises:
        CaseError: a file holds something else than labels of its annotator.

    """
    files = sorted((folder / AUDIT / _LABELS).glob("*.jsonl"))
    logs = sorted((AuditLog(path) for path in files if not path.name.startswith(".")), key=lambda log: log.annotator)
    return {log.annotator: log.labels() for log in logs}


Labels: TypeAlias = Mapping[str, Mapping[str, AuditLabel]]


def consensus(labels: Labels) -> dict[str, Consensus]:
    """Return pair id -> the label most annotators give it; ordered by pair id.

    The rule is `majority`: an even split for the first place is `ambiguous`, which people who disagree show it to be;
    `divided` tells these. None: every label was taken back.

    Args:
        labels: annotator -> pair id -> the last line about it, as `read_labels` returns them.

    """
    return {pair_id: _majority(votes) for pair_id, votes in _votes(labels).items()}


def divided(labels: Labels) -> frozenset[str]:
    """Return the pairs whose annotators are split evenly: `ambiguous` by the rule, not by anybody's majority."""
    return frozenset(pair_id for pair_id, votes in _votes(labels).items() if len(_first(votes)) > 1)


def audit_columns(folder: Path) -> dict[str, Consensus]:
    """Return pair id -> consensus of everybody who labelled in a benchmark's folder; nothing where nobody did.

    Raises:
        CaseError: a file of labels is damaged.

    """
    return consensus(read_labels(folder))


class Assignment(Record):
    """One `audit/assignment.json`."""

    schema_: Literal["judgeharness.audit_assignment/1"] = Field(
        default="judgeharness.audit_assignment/1", alias="schema", description="Name and version of this format."
    )
    seed: int = Field(description="What the sample was drawn with.")
    pool: int = Field(ge=0, description="Pairs it was drawn from, each with the same chance.")
    overlap: float = Field(ge=0, le=1, description="Share of the sample that every annotator was to label.")
    uniform: tuple[str, ...] = Field(description="The sample; a noise rate is one of these pairs alone.")
    shared: tuple[str, ...] = Field(description="Those of the sample that every annotator labels.")
    suspicious: tuple[str, ...] = Field(
        description="Pairs chosen because of what judges said, none of them in the sample."
    )
    bundles: Mapping[str, tuple[str, ...]] = Field(
        description="Annotator -> what they label, in an order that does not tell why a pair is in it."
    )


def assign(
    pairs: Iterable[str],
    *,
    annotators: Sequence[str],
    n: int,
    overlap: float = 0.1,
    suspicious: Callable[[Sequence[str]], Sequence[str]] | Sequence[str] = (),
    seed: int = 0,
) -> Assignment:
    """Share pairs out between annotators.

    The sample is uniform without replacement. It depends on the seed and the pairs alone: a larger one contains a
    smaller one, and other annotators get parts of the same.

    Args:
        pairs: ids of the pairs that may be drawn.
        annotators: who labels.
        n: pairs in the sample; all where there are fewer.
        overlap: the share of the sample that every annotator labels; the rest is shared out evenly.
        suspicious: further pairs, each for one annotator, or what returns them for a sample, which is without them.
        seed: draws the sample, the parts and the order of each.

    Raises:
        UsageError: there is no pair or no annotator, a name stands twice, or a number is out of range.

    """
    pool = sorted({*pairs})
    names = [check_annotator(name) for name in annotators]
    _check(pool, names, n, overlap)
    uniform = drawn_order(pool, key=f"{seed}|sample")[:n]
    shared = drawn_order(uniform, key=f"{seed}|shared")[: round(overlap * len(uniform))] if len(names) > 1 else []
    listed = suspicious(uniform) if callable(suspicious) else suspicious
    further = [pair_id for pair_id in dict.fromkeys(listed) if pair_id not in {*uniform}]
    parts = _parts([pair_id for pair_id in uniform if pair_id not in {*shared}], names)
    slices = _parts(further, names[::-1])  # whoever has one pair more of the sample has none more of the slice
    return Assignment(
        seed=seed,
        pool=len(pool),
        overlap=overlap,
        uniform=tuple(uniform),
        shared=tuple(sorted(shared)),
        suspicious=tuple(further),
        bundles={
            name: tuple(drawn_order([*parts[name], *shared, *slices[name]], key=f"{seed}|{name}")) for name in names
        },
    )


def read_assignment(folder: Path) -> Assignment | None:
    """Return the assignment of a benchmark's folder; None where nothing was assigned.

    Raises:
        CaseError: the file is damaged.

    """
    path = folder / AUDIT / _ASSIGNMENT
    if not path.is_file():
        return None
    try:
        return Assignment.from_dict(json.loads(path.read_text(encoding="utf-8")), where=str(path))
    except ValueError as error:
        raise CaseError(f"{path} is no JSON ({error}): restore it, or assign anew with --overwrite.") from error


def write_assignment(folder: Path, assignment: Assignment) -> Path:
    """Write an assignment to a benchmark's folder, over an earlier one; labels stay as they are."""
    path = folder / AUDIT / _ASSIGNMENT
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, [json.dumps(assignment.to_dict(), indent=2, ensure_ascii=False) + "\n"])
    return path


@dataclass(frozen=True, kw_only=True)
class AuditedSlice:
    """Pairs of one kind by their consensus; `pairs` are all of them, the three labels sum to `labelled`.

    `divided` of the ambiguous ones are an even split of annotators. `rejected` of all of them were rejected by
    verification since they were drawn, and stay; None where nobody looked.
    """

    pairs: int
    clean: int
    ambiguous: int
    noise: int
    divided: int
    rejected: int | None = None

    @property
    def labelled(self) -> int:
        """Pairs with a consensus."""
        return self.clean + self.ambiguous + self.noise

    @property
    def unlabelled(self) -> int:
        """Pairs nobody labelled yet; they are in no rate."""
        return self.pairs - self.labelled

    def to_dict(self) -> dict[str, int | None]:
        """Return the counts as JSON keeps them."""
        counts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return counts | {"labelled": self.labelled, "unlabelled": self.unlabelled}


@dataclass(frozen=True, kw_only=True)
class NoiseRate:
    """What people found, by slice.

    Args:
        uniform: the sample that stands for all accepted pairs, by the labels of those a pair was assigned to; None
            where nothing was assigned. Whoever looks at further ones chose them, and would move the rate.
        suspicious: pairs that were chosen for what judges said, in the same way; their share of noise stands for
            nothing else.
        others: pairs by the labels of people they were not assigned to. A pair may be in another slice as well, by
            other labels; where nothing was assigned these are all.
        agreement: of annotators, over the pairs that every one was to label; over all where nothing was assigned.
        rule: how several annotators' labels become one.

    """

    uniform: AuditedSlice | None
    suspicious: AuditedSlice | None
    others: AuditedSlice
    agreement: tuple[LabelAgreement, ...] = field(default=())
    rule: str = _RULE

    @property
    def noise(self) -> Rate | None:
        """Noise among the labelled pairs of the uniform sample; None where there is none of them.

        Wilson's interval over pairs. That the benchmark's pairs are finitely many is ignored, so that the interval is
        rather too wide where most of them were drawn.
        """
        return None if self.uniform is None else Rate.of(self.uniform.noise, self.uniform.labelled)

    @property
    def ambiguous(self) -> Rate | None:
        """Ambiguous ones among the labelled pairs of the uniform sample, in the same way."""
        return None if self.uniform is None else Rate.of(self.uniform.ambiguous, self.uniform.labelled)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        slices = {name: getattr(self, name) for name in ("uniform", "suspicious", "others")}
        return {
            "rule": self.rule,
            "noise_rate": rate_document(self.noise),
            "ambiguous_rate": rate_document(self.ambiguous),
            **{name: None if found is None else found.to_dict() for name, found in slices.items()},
            "agreement": [pair.to_dict() for pair in self.agreement],
        }


def noise_rate(labels: Labels, assignment: Assignment | None, *, rejected: Collection[str] | None = None) -> NoiseRate:
    """Return what people found.

    Args:
        labels: annotator -> pair id -> the last line about it, as `read_labels` returns them.
        assignment: which pairs are the uniform sample and which the suspicious slice, and whose they are; without one
            there is no rate, since nobody knows how the labelled pairs were chosen.
        rejected: ids of pairs that verification rejects by now. The sample was drawn from all that were accepted, so
            they stay in it and are counted.

    """
    if assignment is None:
        return NoiseRate(
            uniform=None, suspicious=None, others=_labelled(labels, rejected), agreement=_agreement(labels)
        )
    theirs = {name: {*bundle} for name, bundle in assignment.bundles.items()}
    due = _part(labels, lambda name, pair_id: pair_id in theirs.get(name, ()))
    chosen = _part(labels, lambda name, pair_id: pair_id not in theirs.get(name, ()))
    shared = {*assignment.shared}
    return NoiseRate(
        uniform=_slice(assignment.uniform, due, rejected),
        suspicious=_slice(assignment.suspicious, due, rejected),
        others=_labelled(chosen, rejected),
        agreement=_agreement(_part(due, lambda _, pair_id: pair_id in shared)),
    )


def read_results(folder: BenchmarkFolder) -> Results:
    """Return a benchmark's pairs, what judges answered about them, and what people agreed on.

    Raises:
        UsageError: there is no benchmark, or a file of it cannot be read.
        LogStorageError: the verdict log cannot be read.

    """
    from judgeharness_integrations.benchmark.verdicts import results_of  # noqa: PLC0415 - loads numpy

    return results_of(folder, audit=audit_columns(folder.path) or None)


def audited_of(labels: Labels, assignment: Assignment | None) -> Audited | None:
    """Return what people found; None where nobody labelled anything.

    Args:
        labels: annotator -> pair id -> the last label of it.
        assignment: which pairs are the uniform sample; None where nobody was assigned any.

    """
    from judgeharness_integrations.benchmark.verdicts import AnnotatorPair, Audited  # noqa: PLC0415 - loads numpy

    if not labels:
        return None
    found, agreed = noise_rate(labels, assignment), consensus(labels)
    counts, rate = Counter(agreed.values()), found.noise
    return Audited(
        annotators=tuple(sorted(labels)),
        pairs=sum(label is not None for label in agreed.values()),
        clean=counts["clean"],
        ambiguous=counts["ambiguous"],
        noise=counts["noise"],
        sampled=0 if rate is None else rate.trials,
        sampled_noise=0 if rate is None else rate.successes,
        noise_rate=None if rate is None else rate.value,
        noise_low=None if rate is None else rate.low,
        noise_high=None if rate is None else rate.high,
        agreement=tuple(
            AnnotatorPair(
                annotators=one.annotators,
                pairs=one.items,
                agreed=one.agreed,
                kappa=None if one.kappa is None else one.kappa.value,
            )
            for one in found.agreement
        ),
    )


def _votes(labels: Labels) -> dict[str, Counter[PairLabel]]:
    votes: dict[str, Counter[PairLabel]] = {}
    for mine in labels.values():
        for pair_id, said in mine.items():
            counts = votes.setdefault(pair_id, Counter())
            if said.label is not None:
                counts[said.label] += 1
    return dict(sorted(votes.items()))


def _majority(votes: Counter[PairLabel]) -> Consensus:
    first = _first(votes)
    if not first:
        return None
    return first[0] if len(first) == 1 else "ambiguous"


def _first(votes: Counter[PairLabel]) -> list[PairLabel]:
    most = max(votes.values(), default=0)
    return [label for label, count in votes.items() if count == most]


def _check(pool: Sequence[str], names: Sequence[str], n: int, overlap: float) -> None:
    if not pool:
        raise UsageError("there is no pair to assign: only accepted pairs are audited.")
    if not names or len({name.casefold() for name in names}) < len(names):
        raise UsageError("name the annotators, each once, as in --assign anna,ben.")
    if n < 1:
        raise UsageError(f"a sample holds at least 1 pair, not {n}.")
    if not 0 <= overlap <= 1:
        raise UsageError(f"the overlap is a share from 0 to 1, not {overlap}.")


def _parts(pairs: Sequence[str], names: Sequence[str]) -> dict[str, Sequence[str]]:
    return {name: pairs[place :: len(names)] for place, name in enumerate(names)}


def _part(labels: Labels, keeps: Callable[[str, str], bool]) -> Labels:
    """Return the labels that are kept by annotator and pair id."""
    return {
        name: {pair_id: said for pair_id, said in mine.items() if keeps(name, pair_id)} for name, mine in labels.items()
    }


def _labelled(labels: Labels, rejected: Collection[str] | None) -> AuditedSlice:
    """Return every pair that has a consensus."""
    return _slice([name for name, label in consensus(labels).items() if label is not None], labels, rejected)


def _slice(pairs: Iterable[str], labels: Labels, rejected: Collection[str] | None) -> AuditedSlice:
    chosen, found = {*pairs}, consensus(labels)
    counts = Counter(found.get(pair_id) for pair_id in chosen)
    return AuditedSlice(
        pairs=len(chosen),
        clean=counts["clean"],
        ambiguous=counts["ambiguous"],
        noise=counts["noise"],
        divided=len(chosen & divided(labels)),
        rejected=None if rejected is None else len(chosen.intersection(rejected)),
    )


def _agreement(labels: Labels) -> tuple[LabelAgreement, ...]:
    rows = [
        VerdictRow(case_id=pair_id, judge=annotator, criterion="audit", verdict=said.label)
        for annotator, mine in labels.items()
        for pair_id, said in mine.items()
        if said.label is not None
    ]
    return tuple(label_agreement(rows))
