"""A judge whose quality and faults are numbers, so that every rate a report shows has a known true value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import Criterion, PairwiseCase
from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.testing.simulating.answering import OUTCOME_OF, answers, evidence, raw_text
from judgeharness_integrations.testing.simulating.asked import asked
from judgeharness_integrations.testing.simulating.scale import KINDS, Kind, Scale, scale_of

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations import Perturbation
    from judgeharness_integrations.probes import AdversarialProbe
    from judgeharness_integrations.testing.simulating.truth import SimulatedTruth
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["SimulatedJudge"]

_SHARES = ("case_correlation", "refusal", "garbage")
_SIZES = ("noise", "ties", "formatting", "wording")
_OF_PAIRS = ("position", "ties")
_MIRROR = {"A": "B", "B": "A"}


@dataclass(frozen=True, kw_only=True)
class SimulatedJudge:
    """A probit judge: it answers by a preference z, the sum of what is true, of its biases, and of noise.

    A pair is won by what is shown first when z > `ties`, by the second when z < -`ties`, and ties in between. A graded
    answer is PASS when z > 0. A score is 5.5 + 2 z, rounded, from 1 to 10. For a pair z is in favour of what is shown
    first, else of PASS or of a higher score. `truth` gives in closed form what follows.

    What is drawn depends on (seed, case, perturbation, repetition) alone, so neither order nor concurrency of the
    calls changes an answer; `drift` alone counts calls.

    Args:
        name: its name in the log.
        kind: `pairwise`, `graded` or `scores`.
        quality_difference: how much better the better answer is; the gold label says which that is (A or PASS: this,
            B or FAIL: minus this, TIE: 0, a score g: (g - 5.5) / 2; without gold: this). A case's attribute
            `quality_difference`, positive in favour of A or PASS, goes before it. Two equal texts differ by 0.
        noise: standard deviation of what is random in z.
        case_correlation: share of the noise's variance that all calls about a case have in common, in favour of the
            same answer in both orders.
        position: added in favour of what is shown first.
        ties: half the width of the band of z in which a pair ties; 0: only an exact draw does.
        names: name -> what an answer gains that mentions it, as a whole word.
        length: what an answer gains by each doubling of its length, a single one beyond 200 characters.
        formatting: standard deviation of what `format_change`, `whitespace` or `typography` add to z: for each case
            something of its own, the same in every call.
        wording: the same for `paraphrase` and `prompt_variant`.
        drift: added to z, in favour of what is shown first or of PASS, with every call it has answered.
        obeys: property (`injection.encoded`) or family (`injection`) of adversarial probes -> chance that the answer
            is the one the probe is after; otherwise it is as without the payload. An answer that is empty or on another
            subject (`sentinel.empty`, `sentinel.off_topic`) loses by 10 unless it is obeyed. Names are not checked,
            since probes of one's own have any: one that no probe has plants nothing.
        refusal: chance that it refuses to answer.
        garbage: chance that its answer cannot be read.
        copies: later repetitions are copies of the first, as from a cache; the response id repeats.
        seed: of everything that is drawn.

    Raises:
        UsageError: a number is out of its range, or does not apply to this kind of judge.

    """

    name: str = "simulated"
    kind: Kind = "pairwise"
    quality_difference: float = 1.0
    noise: float = 1.0
    case_correlation: float = 0.0
    position: float = 0.0
    ties: float = 0.0
    names: Mapping[str, float] = field(default_factory=dict)
    length: float = 0.0
    formatting: float = 0.0
    wording: float = 0.0
    drift: float = 0.0
    obeys: Mapping[str, float] = field(default_factory=dict)
    refusal: float = 0.0
    garbage: float = 0.0
    copies: bool = False
    seed: int = 0
    _calls: Iterator[int] = field(default_factory=itertools.count, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what no judge can be."""
        if self.kind not in KINDS:
            raise UsageError(f"a simulated judge is {', '.join(KINDS)}, not {self.kind!r}.")
        _check_shares({name: getattr(self, name) for name in _SHARES})
        _check_shares({f"obeys[{name!r}]": share for name, share in self.obeys.items()})
        _check_names(self.names)
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise UsageError(f"{one.name} of a simulated judge must be a finite number, not {value}.")
            if one.name in _SIZES and value < 0:
                raise UsageError(f"{one.name} of a simulated judge cannot be below 0, as {value} is.")
            if one.name in _OF_PAIRS and value and self.kind != "pairwise":
                raise UsageError(f"{one.name} belongs to pairs: leave it out of a {self.kind} judge.")
        if self.refusal + self.garbage > 1:
            raise UsageError("refusal and garbage are chances that exclude each other: together at most 1.")

    @property
    def identity(self) -> JudgeIdentity:
        """Its name and every number that is not the default."""
        return JudgeIdentity(name=self.name, parameters={"simulated": self.kind, **self._told()})

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The one question it answers."""
        return (self.scale.criterion,)

    @property
    def supports(self) -> frozenset[str]:
        """Every perturbation of a judge's own prompt fits it."""
        return frozenset({"slot_names", "prompt_variant"})

    @property
    def instructions(self) -> str:
        """The text that `prompt_variant` rewords."""
        return "Compare the two answers." if self.kind == "pairwise" else "Judge the answer."

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if self.kind == "pairwise" and not isinstance(case, PairwiseCase):
            return "it compares two answers: give a PairwiseCase"
        if self.kind != "pairwise" and isinstance(case, PairwiseCase):
            return "it judges one answer: give an AnswerCase"
        return None

    async def judge(self, probe: Probe) -> Judgment:
        """Answer one probe."""
        swapped = probe.perturbation.swaps
        question = asked(self, probe.case, probe.case_id, probe.perturbation.name, swapped=swapped)
        repetition = np.array([[0 if self.copies else probe.repetition]])
        found = answers(self, [question], repetition, np.array([next(self._calls)], dtype=float))
        place = int(found.places[0])
        verdict = self.scale.verdicts[place] if place >= 0 else None
        if swapped and isinstance(verdict, str):
            verdict = _MIRROR.get(verdict, verdict)
        answer = Answer(verdict=verdict, outcome=OUTCOME_OF.get(place, "ok"))
        raw = raw_text(place, float(found.preferences[0]))
        return Judgment(answers=(answer,), raw=raw, facts=evidence(self, question))

    def rows(
        self,
        cases: Iterable[Case],
        *,
        perturbations: Sequence[str | Perturbation] = ("none",),
        repetitions: int = 3,
        probes: Sequence[str | AdversarialProbe] = (),
        run: str = "",
        seed: int = 0,
    ) -> list[VerdictRow]:
        """Return the rows a harness would write, without an event loop and a hundred times as fast.

        Args:
            cases: what is judged.
            perturbations: names or perturbations; one that does not fit a case is left out for it.
            repetitions: how often each is asked.
            probes: properties or families of adversarial probes, or probes of one's own, asked once a case on the side
                that the first valid answer under `none` leaves something to gain, or to lose: as `check_judge` does.
            run: the run the rows carry.
            seed: of the perturbations, as of a harness.

        Raises:
            UsageError: there are probes without the perturbation `none`, a case is of another kind than the judge, two
                share an id, `repetitions` is below 1, or a perturbation waits for something.
            UnknownNameError: there is no such perturbation or probe.

        """
        from judgeharness_integrations.testing.simulating.rowmaking import rows_of  # noqa: PLC0415

        return rows_of(self, cases, perturbations, repetitions=repetitions, probes=probes, run=run, seed=seed)

    def truth(
        self, *, quality_difference: float | None = None, name_lead: float = 0.0, length_lead: float = 0.0
    ) -> SimulatedTruth:
        """Return what is true of this judge on cases of one kind.

        Args:
            quality_difference: by how much A (or PASS, or a higher score) is better; None: the judge's own.
            name_lead: what `names` give A, or the only answer, beyond the other.
            length_lead: what `length` gives it.

        """
        from judgeharness_integrations.testing.simulating.truth import SimulatedTruth  # noqa: PLC0415 - a cycle

        quality = self.quality_difference if quality_difference is None else quality_difference
        return SimulatedTruth(judge=self, quality_difference=quality, name_lead=name_lead, length_lead=length_lead)

    @cached_property
    def scale(self) -> Scale:
        """Its verdicts and where they begin."""
        return scale_of(self.kind, self.ties)

    def _told(self) -> dict[str, Any]:
        """Return the parameters that are not the default."""
        told = {}
        for one in fields(self):
            default = one.default if one.default_factory is MISSING else one.default_factory()
            value = getattr(self, one.name)
            if one.init and one.name not in {"name", "kind"} and value != default:
                told[one.name] = dict(value) if isinstance(value, Mapping) else value
        return told


def _check_shares(shares: Mapping[str, float]) -> None:
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise UsageError(f"{name} of a simulated judge is a share from 0 to 1, not {value}.")


def _check_names(names: Mapping[str, float]) -> None:
    for name, bonus in names.items():
        if not name.strip() or not math.isfinite(bonus):
            raise UsageError(f"names of a simulated judge map a name to a finite number, not {name!r} to {bonus}.")
