"""The pairs of a benchmark for the audit page: their order of suspicion, and labels in the annotator's own file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, cast

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Document, Pair, Taxonomy
from judgeharness_integrations.benchmark.results.curation import by_joint_correctness, strong_miss_weak_hit
from judgeharness_integrations.reporting.html.charts import interval_text, percent
from judgeharness_integrations.verdictlog.encoding import counted

from .labels import (
    Assignment,
    NoiseRate,
    PairLabel,
    check_annotator,
    label_log,
    noise_rate,
    read_assignment,
    read_labels,
)
from .source import Answering, Choice, Fact, Item, PairView, Progress

if TYPE_CHECKING:
    from judgeharness_integrations.benchmark.results.judgments import JointCell, JointTable
    from judgeharness_integrations.verdictlog.row import VerdictRow

ASSIGNED: Final = "assigned"
NUMBER: Final = "number"
JOINT: Final = "joint correctness"
STRONG_MISS: Final = "strong miss, weak hit"
_LABEL_CHOICES: Final = (
    Choice(
        value="clean",
        key="1",
        alias="c",
        name="clean",
        definition="The declared flaw is there, in its turn, and it is the only one; the rest is right.",
        tone="good",
    ),
    Choice(
        value="ambiguous",
        key="2",
        alias="a",
        name="ambiguous",
        definition="Careful people could disagree: the flaw is faint, or another turn or type fits as well.",
        tone="warn",
    ),
    Choice(
        value="noise",
        key="3",
        alias="n",
        name="noise",
        definition="The pair is wrong: no such flaw, a second one, or facts that the text does not hold.",
        tone="bad",
    ),
)
_RIGHT: Final = "judges right"
IDLE: Final = "every pair can be read and labelled; those labels count apart, in no rate"
_UNASKED: Final = "labelled by people they were not assigned to: in no rate"
_FILTERS: Final = ("domain", "failure type", "behaviour", "rounds", "state")


class PairSource:
    """The pairs of a benchmark as one annotator labels them.

    Pairs, documents and what judges decided are read once; labels, and what judges wrote about a pair, whenever they
    are asked for. Where pairs were assigned those of the annotator are due, which may be none, else every pair that was
    not rejected.
    """

    kind: Literal["pairs", "cases"] = "pairs"
    choices: tuple[Choice, ...] = _LABEL_CHOICES
    filters: tuple[str, ...] = _FILTERS

    def __init__(self, folder: BenchmarkFolder, *, annotator: str) -> None:
        """Read a benchmark.

        Raises:
            UsageError: there is none, a file of it is damaged, or no file can be named after the annotator.
            LogStorageError: the verdict log cannot be read.

        """
        folder.check()
        self._folder = folder
        self.annotator = check_annotator(annotator)
        self.title = folder.path.resolve().name
        self._log = label_log(folder.path, self.annotator)
        self._pairs = {pair.pair_id: pair for pair in folder.pairs()}

    @property
    def orders(self) -> tuple[str, ...]:
        """The annotator's bundle first, if there is one; the suspicions where judges were asked."""
        assigned = (ASSIGNED,) if self._bundle else ()
        return (*assigned, NUMBER, *((JOINT, STRONG_MISS) if self._matrix else ()))

    @property
    def blind_orders(self) -> tuple[str, ...]:
        """The bundle: it does not tell why a pair is in it, and what judges said of the pair would."""
        return (ASSIGNED,) if self._folder.verdicts.is_file() else ()

    @property
    def is_idle(self) -> bool:
        """Whether pairs were assigned, and none of them to the annotator."""
        return self._assignment is not None and not self._bundle

    @property
    def assigned_others(self) -> tuple[str, ...]:
        """Those whom pairs were assigned to, where the annotator is none of them; else nobody."""
        bundles = self._assignment.bundles if self._assignment else {}
        return () if self.annotator in bundles else tuple(bundles)

    def items(self) -> Sequence[Item]:
        """Return every pair with the annotator's label."""
        labels = self._log.labels()
        return [
            replace(item, label=said.label, note=said.note) if (said := labels.get(name)) else item
            for name, item in self._unlabelled.items()
        ]

    def ordered(self, order: str) -> Sequence[str]:
        """Return pair ids: those an order speaks of, then the others by number; rejected ones last."""
        first = self._first(order)
        known = [name for name in first if name in self._pairs]
        every = list(dict.fromkeys([*known, *self._pairs]))
        return sorted(every, key=lambda name: self._unlabelled[name].columns["state"] == "rejected")

    def answering(self, item_id: str) -> Answering:  # noqa: ARG002 - every pair has the same labels
        """Return the three labels."""
        return Answering(choices=_LABEL_CHOICES)

    def views(self, item_id: str) -> PairView:
        """Return what is known of a pair."""
        return PairView.of(
            self._pairs[item_id],
            taxonomy=self._taxonomy,
            titles={document.document_id: document.title for document in self._documents},
            chunks={chunk.chunk_id: chunk for document in self._documents for chunk in document.chunks},
            rows=self._rows_of(item_id),
            decided=self._decided.get(item_id),
        )

    def label(self, item_id: str, value: str | None, note: str) -> None:
        """Write a label to the annotator's file."""
        self._log.append(item_id, cast("PairLabel | None", value), note)

    def progress(self) -> Progress:
        """Return how far the annotator is, and what everybody's labels say so far."""
        items = self.items()
        due = [item for item in items if item.due]
        return Progress(
            labelled=sum(item.label is not None for item in due),
            items=len(due),
            counts=Counter(item.label for item in items if item.label is not None),
            facts=self._facts(),
        )

    def _facts(self) -> tuple[Fact, ...]:
        idle = (Fact(name="Assigned to you", text="nothing", note=IDLE),) if self.is_idle else ()
        rejected = {name for name, pair in self._pairs.items() if pair.state == "rejected"}
        try:
            return (*idle, *_facts(noise_rate(read_labels(self._folder.path), self._assignment, rejected=rejected)))
        except CaseError as error:  # somebody else's file: it stops nobody from labelling
            return (*idle, Fact(name="Noise rate", text="cannot be told", note=str(error)))

    @cached_property
    def _unlabelled(self) -> Mapping[str, Item]:
        """Pair id -> its item but for the label, which alone changes."""
        due = {*self._bundle}
        if self._assignment is None:
            due = {name for name, pair in self._pairs.items() if pair.state != "rejected"}
        right = self._right
        return {
            name: Item(
                item_id=name,
                title=name,
                columns=_columns(pair),
                telling=(_FLAW,),
                judged={_RIGHT: right.get(name, "")} if right else {},
                due=name in due,
            )
            for name, pair in self._pairs.items()
        }

    @property
    def _right(self) -> Mapping[str, str]:
        """Pair id -> how many of the judges that decided about it were right."""
        found: dict[str, list[bool]] = {}
        for cells in self._matrix.values():
            for name, right in cells.items():
                found.setdefault(name, []).append(right)
        return {name: f"{sum(right)} of {len(right)}" for name, right in found.items()}

    def _first(self, order: str) -> Sequence[str]:
        if order == ASSIGNED:
            return self._bundle
        if order == JOINT:
            return [suspect.pair_id for suspect in by_joint_correctness(self._matrix)]
        if order == STRONG_MISS:
            return [suspect.pair_id for suspect in strong_miss_weak_hit(self._matrix)]
        return ()

    @cached_property
    def _documents(self) -> list[Document]:
        return self._folder.documents()

    @cached_property
    def _taxonomy(self) -> Taxonomy:
        return self._folder.taxonomy()

    @cached_property
    def _assignment(self) -> Assignment | None:
        return read_assignment(self._folder.path)

    @cached_property
    def _bundle(self) -> tuple[str, ...]:
        return () if self._assignment is None else self._assignment.bundles.get(self.annotator, ())

    def _rows_of(self, pair_id: str) -> list[VerdictRow]:
        """Return what judges said of a pair, as it stands in the log."""
        if not self._folder.verdicts.is_file():
            return []
        wanted = [("pairwise", pair_id), *(("pointwise", f"{pair_id}/{side}") for side in ("A", "B"))]
        with self._folder.log() as log:
            return [row for run, case_id in wanted for row in log.rows(run=run, case_id=case_id)]

    @cached_property
    def _joint(self) -> JointTable | None:
        """Who was right about what: pairwise, or from single conversations where only those were judged."""
        if not self._folder.verdicts.is_file():
            return None
        from judgeharness_integrations.benchmark.verdicts import read_table  # noqa: PLC0415 - loads numpy

        return read_table(self._folder, self._pairs.values())

    @cached_property
    def _matrix(self) -> Mapping[str, Mapping[str, bool]]:
        return {} if self._joint is None else self._joint.matrix()

    @cached_property
    def _decided(self) -> Mapping[str, Mapping[str, JointCell]]:
        found: dict[str, dict[str, JointCell]] = {}
        for (judge, pair_id), cell in (self._joint.cells if self._joint else {}).items():
            found.setdefault(pair_id, {})[judge] = cell
        return found


_FLAW = "failure type"


def _columns(pair: Pair) -> Mapping[str, str]:
    conditions = pair.conditions
    return {
        "domain": conditions.domain,
        _FLAW: conditions.failure_type,
        "behaviour": conditions.behaviour,
        "rounds": str(conditions.n_rounds),
        "state": pair.state,
    }


def _facts(found: NoiseRate) -> tuple[Fact, ...]:
    facts = []
    if found.uniform is not None:
        counts = f"{found.uniform.noise} of {found.uniform.labelled} labelled pairs of the uniform sample"
        open_ones = f", {found.uniform.unlabelled} not labelled yet" if found.uniform.unlabelled else ""
        open_ones += f", {found.uniform.rejected} rejected since and still in it" if found.uniform.rejected else ""
        rate = found.noise
        text = "not known yet" if rate is None else f"{percent(rate.value)} {interval_text(rate.low, rate.high)}"
        facts.append(Fact(name="Noise rate", text=text, note=counts + open_ones))
    if found.suspicious is not None and found.suspicious.pairs:
        seen = found.suspicious
        text = f"{seen.noise} noise of {seen.labelled}"
        facts.append(Fact(name="Suspicious slice", text=text, note="chosen for what judges said: in no rate"))
    if found.uniform is not None and found.others.pairs:
        seen = found.others
        facts.append(Fact(name="Not assigned", text=f"{seen.noise} noise of {seen.labelled}", note=_UNASKED))
    for pair in found.agreement:
        kappa = "" if pair.kappa is None else f", kappa {pair.kappa.value:.2f}"
        who = " and ".join(pair.annotators)
        text = f"{pair.agreed} of {pair.items}{kappa}"
        facts.append(Fact(name="Agreement", text=text, note=f"{who} on {counted(pair.items, 'pair')} both labelled"))
    return tuple(facts)
