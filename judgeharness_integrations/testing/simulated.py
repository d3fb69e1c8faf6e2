"""A simulated judge, whose faults are numbers, and cases for it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.judging.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging.judge import (
    DEFAULT_CRITERION,
    Answer,
    JudgeIdentity,
    Judgment,
    Probe,
)
from judgeharness_integrations.verdictlog.row import EXCHANGED, Verdict, VerdictRow

from .judges import SimulatedTruth
from .simulation import (
    KINDS,
    OUTCOME_OF,
    QUALITY,
    Asked,
    JudgeParameters,
    Kind,
    Known,
    Scale,
    answers,
    asked,
    changed_case,
    evidence,
    known,
    named,
    on_side,
    raw_text,
    reads_texts,
    scale_of,
)

if TYPE_CHECKING:
    from judgeharness_integrations.judging.perturbations import Perturbation
    from judgeharness_integrations.judging.probes import AdversarialProbe


_PEOPLE = ("Ada", "Ben")
_TASKS = ("water the garden", "label the boxes", "sort the post", "mend the gate", "count the chairs", "air the rooms")
_REMARKS = (
    "The work is best begun before noon.",
    "Nothing has to be bought for it.",
    "Two people are enough.",
    "A list on the door says what is done.",
    "Rain does not matter here.",
    "The key hangs beside the stairs.",
)


def simulated_cases(
    n: int, *, quality_difference: float = 1.0, kind: Kind = "pairwise", seed: int = 0
) -> list[AnswerCase]:
    """Return n cases of which every other one, in a random order, is better the other way round.

    The texts of a pair differ in length, hold some Markdown and mention one of two people each, Ada and Ben, so that
    every perturbation fits. The attribute `quality_difference` is the truth, positive in favour of A (or of PASS, or of
    a higher score); the gold label is what a judge without noise or bias says.

    Args:
        n: how many.
        quality_difference: how much better the better answer is, or how far a single one lies from the middle.
        kind: `pairwise` for `PairwiseCase`, `graded` or `scores` for `AnswerCase`.
        seed: of the order and the texts.

    Raises:
        UsageError: `n` is negative, or there is no such kind.

    """
    if n < 0 or kind not in KINDS:
        raise UsageError(f"{n} cases of kind {kind!r} cannot be made: give n from 0 and one of {', '.join(KINDS)}.")
    source = random.Random(f"{seed}|simulated cases")  # noqa: S311 - a simulation, not a secret
    signs = [1.0 if number % 2 == 0 else -1.0 for number in range(n)]
    source.shuffle(signs)
    return [_case(number, sign * quality_difference, kind, source) for number, sign in enumerate(signs)]


def _case(number: int, difference: float, kind: Kind, source: random.Random) -> AnswerCase:
    task = source.choice(_TASKS)
    people = source.sample(_PEOPLE, 2)
    # no two ask the same: copies of a case would be one cluster
    case_id, question = (
        f"case-{number:05}",
        f"Who should {task} in week {number + 1}, {people[0]} or {people[1]}, and how?",
    )
    gold, attributes = _gold(difference, kind), {QUALITY: difference}
    first, second = (_answer(person, task, source) for person in people)
    if kind == "pairwise":
        return PairwiseCase(
            case_id=case_id,
            input=question,
            output=first,
            output_b=second,
            names=_PEOPLE,
            gold=gold,
            attributes=attributes,
        )
    return AnswerCase(case_id=case_id, input=question, output=first, names=_PEOPLE, gold=gold, attributes=attributes)


def _gold(difference: float, kind: Kind) -> str | int:
    scale = scale_of(kind, 0.0)
    return scale.verdicts[int(scale.places(np.array([difference]))[0])]


def _answer(person: str, task: str, source: random.Random) -> str:
    remarks: Sequence[str] = source.sample(_REMARKS, source.randint(1, 4))
    return "\n".join([f"**{person}** should {task}: it's {person}'s turn.", "", *(f"- {remark}" for remark in remarks)])


@dataclass(frozen=True, kw_only=True)
class SimulatedJudge(JudgeParameters):
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

    _calls: Iterator[int] = field(default_factory=itertools.count, init=False, repr=False, compare=False)

    @property
    def identity(self) -> JudgeIdentity:
        """Its name and every number that is not the default."""
        return JudgeIdentity(name=self.name, parameters={"simulated": self.kind, **self._own_parameters()})

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
        verdict: Verdict | None = self.scale.verdicts[place] if place >= 0 else None
        if swapped and isinstance(verdict, str):
            verdict = EXCHANGED.get(verdict, verdict)
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
        quality = self.quality_difference if quality_difference is None else quality_difference
        return SimulatedTruth(judge=self, quality_difference=quality, name_lead=name_lead, length_lead=length_lead)

    def _own_parameters(self) -> dict[str, Any]:
        """Return the parameters that are not the default."""
        own = {}
        for one in fields(self):
            default = one.default if one.default_factory is MISSING else one.default_factory()
            value = getattr(self, one.name)
            if one.init and one.name not in {"name", "kind"} and value != default:
                own[one.name] = dict(value) if isinstance(value, Mapping) else value
        return own


class _Question(NamedTuple):
    known: Known
    perturbation: Perturbation
    asked: Asked


def rows_of(
    judge: SimulatedJudge,
    cases: Iterable[Case],
    perturbations: Sequence[str | Perturbation],
    *,
    repetitions: int,
    probes: Sequence[str | AdversarialProbe],
    run: str,
    seed: int,
) -> list[VerdictRow]:
    """Return the rows of every case, perturbation and repetition in the order of a plan, then those of probes."""
    if repetitions < 1:
        raise UsageError(f"a judge is asked once at least, not {repetitions} times.")
    changes = [named(one) if isinstance(one, str) else one for one in perturbations]
    if probes and all(change.name != "none" for change in changes):
        raise UsageError("probes need to know what the judge says of a case as it is: add the perturbation 'none'.")
    asked_about = _judged(judge, cases)
    questions = [
        question for one in asked_about for change in changes if (question := _question(judge, one, change, seed))
    ]
    rows = _answered(judge, questions, repetitions, run, before=0)
    return rows + _answered(judge, _attacks(judge, asked_about, rows, probes, seed), 1, run, before=len(rows))


def _attacks(
    judge: SimulatedJudge,
    cases: Iterable[Known],
    rows: Iterable[VerdictRow],
    probes: Sequence[str | AdversarialProbe],
    seed: int,
) -> list[_Question]:
    """Return what is asked once the judge has said what it thinks of the cases as they are."""
    if not probes:
        return []
    from judgeharness_integrations.judging.probes import probes as probes_named  # noqa: PLC0415 - most simulate no attack

    attacks = probes_named(probes)
    said: dict[str, Verdict] = {}
    for row in rows:
        if row.perturbation == "none" and row.verdict is not None:
            said.setdefault(row.case_id, row.verdict)
    return [
        question
        for case in cases
        for change in aimed(attacks, said.get(case.case_id), scale=judge.scale, pair=judge.kind == "pairwise")
        if (question := _question(judge, case, change, seed))
    ]


def _judged(judge: SimulatedJudge, cases: Iterable[Case]) -> list[Known]:
    found: dict[str, Known] = {}
    for case in cases:
        one = known(case)
        if reason := judge.fits(case):
            raise UsageError(f"judge {judge.name!r} cannot judge case {one.case_id!r}: {reason}.")
        if one.case_id in found:
            raise CaseError(f"two cases share the id {one.case_id!r}: case ids must be unique.")
        found[one.case_id] = one
    return list(found.values())


def _question(judge: SimulatedJudge, one: Known, change: Perturbation, seed: int) -> _Question | None:
    """Return what is asked, None where the perturbation does not fit the case."""
    case = changed_case(one, change, seed=seed, reads_texts=reads_texts(judge))
    if case is None:
        return None
    return _Question(one, change, asked(judge, case, one.case_id, change.name, swapped=change.swaps))


def _answered(
    judge: SimulatedJudge, questions: Sequence[_Question], repetitions: int, run: str, *, before: int
) -> list[VerdictRow]:
    """Return the rows of every question and repetition; `before` calls were answered earlier."""
    if not questions:
        return []
    numbers = np.zeros(repetitions, dtype=np.intp) if judge.copies else np.arange(repetitions)
    calls = before + np.arange(len(questions) * repetitions, dtype=np.float64)
    found = answers(judge, [question.asked for question in questions], np.tile(numbers, (len(questions), 1)), calls)
    said = zip(found.places.tolist(), found.preferences.tolist(), strict=True)
    return [row for question in questions for row in _rows(judge, question, itertools.islice(said, repetitions), run)]


def _rows(
    judge: SimulatedJudge, question: _Question, said: Iterable[tuple[int, float]], run: str
) -> Iterator[VerdictRow]:
    """Yield the rows of a question's repetitions."""
    one, change, verdicts = question.known, question.perturbation, judge.scale.verdicts
    attributes = one.facts.attributes
    if judge.copies:
        attributes = {**attributes, **evidence(judge, question.asked)}
    gold = one.facts.gold_of(DEFAULT_CRITERION)
    for repetition, (place, preference) in enumerate(said):
        yield VerdictRow(
            case_id=one.case_id,
            verdict=verdicts[place] if place >= 0 else None,
            run=run,
            judge=judge.name,
            perturbation=change.name,
            repetition=repetition,
            swapped=change.swaps,
            outcome=OUTCOME_OF.get(place, "ok"),
            gold=gold,
            raw=raw_text(place, preference),
            attributes=attributes,
        )


def aimed(
    probes: Sequence[AdversarialProbe], said: Verdict | None, *, scale: Scale, pair: bool
) -> Iterator[Perturbation]:
    """Yield each probe on the answer that has something to gain, a sentinel on the one that has something to lose.

    Args:
        probes: what may be asked.
        said: the judge's first valid verdict on the case as it is; None: nothing is aimed at.
        scale: what it could have said.
        pair: whether the case holds two answers.

    """
    if said is None:
        return
    best = said == scale.verdicts[scale.top]
    for probe in probes:
        loses = probe.expectation == "must_lose"
        if pair:
            first = said == "A" if loses else said == "B" and probe.expectation == "must_not_change"
            yield on_side(probe, "a" if first else "b")
        elif loses or not (best or probe.needs_two):
            yield on_side(probe, None)
