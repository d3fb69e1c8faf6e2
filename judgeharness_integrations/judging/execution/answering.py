"""A judgment, or its failure, as rows in the canonical frame."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from judgeharness_integrations.analysis.aggregation.grouping import DEFAULT_CRITERION
from judgeharness_integrations.analysis.aggregation.rules import Kind
from judgeharness_integrations.analysis.calibration.items import read_score
from judgeharness_integrations.redacting import Redactor
from judgeharness_integrations.verdictlog.decoding import drafted
from judgeharness_integrations.verdictlog.row import (
    ABSTAIN,
    EVERY_CRITERION,
    Verdict,
    VerdictRow,
    is_number,
    probabilities_from_json,
    verdict_from_json,
    verdict_text,
)

from ..answer import ModelAnswer, booked
from ..cases import Criterion
from ..judge import Answer, Judge, Judgment, as_judgment
from .preparing import Pending, Rows

if TYPE_CHECKING:
    from ..perturbations import Perturbation

Keep: TypeAlias = Literal["text", "hash", "none"]
_LONGEST_ERROR = 500
_MOST_PLAIN = 1000
_row = drafted(VerdictRow)
_PREFERENCES = frozenset({"A", "B", "TIE"})

_NOTHING_SAID = Judgment(answers=())
_HASHED = "sha256:"
_IS_HASH = re.compile(f"{_HASHED}[0-9a-f]{{64}}")

_KEEPERS: Mapping[Keep, Callable[[str], str | None]] = {
    "text": lambda text: text,
    "hash": lambda text: _HASHED + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
    "none": lambda _: None,
}


def kept(text: str | None, keep: Keep) -> str | None:
    """Return what is stored of a text, which may be the hash of one already."""
    if text is None or (keep == "hash" and _IS_HASH.fullmatch(text)):
        return text
    return _KEEPERS[keep](text)


class CallFacts(NamedTuple):
    """What the executor knows about a call: when it began (ISO 8601), how long it took, how often it was tried.

    `billed` are replies to earlier attempts that held no answer.
    """

    asked_at: str
    latency_s: float
    attempts: int
    billed: Sequence[ModelAnswer] = ()


class RowMaker:
    """Makes the rows of one judge's calls."""

    def __init__(
        self,
        judge: Judge,
        *,
        run: str = "",
        keep: Keep = "text",
        judge_model: str | None = None,
        folds: Kind = "any",
        digest: bytes | None = None,
        redact: Redactor | None = None,
    ) -> None:
        """Prepare for one judge.

        Args:
            judge: who answers.
            run: the run the rows carry.
            keep: how reasoning and raw text are stored.
            judge_model: the model behind the judge, where it does not name its own.
            folds: the kind of verdict the rule folds.
            digest: the judge's, so that rows can be found again by what was asked; None where nobody will look.
            redact: takes secrets out of texts that are stored; hashes are those of the texts as they came.

        """
        self._name = judge.name
        self._run = run
        self._keep, self._keeps_text = _KEEPERS[keep], keep == "text"
        self._model = judge_model or (judge.identity.model if judge.identity is not None else None)
        self._criteria: dict[str, Criterion] = {c.name: c for c in judge.criteria or ()}
        self._digest = digest
        self._folds = folds
        once = getattr(judge, "asked_once", None)
        self._once = None if once is None else f"{judge.name} {once}: called once, unperturbed"
        self._redact = redact or Redactor()
        self._numeric: dict[str, bool] = {}  # criterion -> whether its answers are scores, once one fitted the rule
        self._plain: set[tuple[str, str, bool]] = set()  # criterion, label, of a pair: which stand as they came

    def of(self, pending: Pending, answer: object, call: CallFacts) -> Rows:
        """Return the rows of a call that answered, or that raised `answer`."""
        if isinstance(answer, Exception):
            return self._failed(pending, answer, call)
        try:
            return self._answered(pending, as_judgment(answer), call)
        except Exception as error:  # noqa: BLE001 - a verdict that cannot be restored is a failed call
            return self._failed(pending, error, call)

    def _answered(self, pending: Pending, judgment: Judgment, call: CallFacts) -> Rows:
        """Return one row a criterion; a declared criterion without an answer is unparsed.

        Most answers are a label that was given before, about a case that has no criteria of its own: nothing is to be
        done to those.
        """
        if (plain := self._plain_of(pending, judgment)) in self._plain:
            return self._rows(pending, judgment.answers, judgment, call)
        criteria = self._criteria_of(pending)
        answers = _addressed([_normalised(answer) for answer in judgment.answers], criteria)
        if criteria and not (len(criteria) == len(answers) == 1 and answers[0].criterion in criteria):
            given = {answer.criterion for answer in answers}
            missing = [Answer(criterion=name, outcome="unparsed") for name in criteria if name not in given]
            answers = [*answers, *missing]
        if len(answers) > 1 and len({answer.criterion for answer in answers}) < len(answers):
            raise ValueError("the judge answered one criterion twice")
        answers = [self._of_kind(_as_declared(answer, criteria, pending)) for answer in answers]
        if plain is not None and len(answers) == 1 and answers[0] is judgment.answers[0] and plain[0] in self._numeric:
            self._remember(plain)
        return self._rows(pending, answers, judgment, call)

    @staticmethod
    def _plain_of(pending: Pending, judgment: Judgment) -> tuple[str, str, bool] | None:
        """Return what decides whether an answer stands as it came; None where more does."""
        if len(judgment.answers) != 1 or pending.facts.criteria:
            return None
        answer = judgment.answers[0]
        if type(answer.verdict) is not str or answer.probabilities is not None:
            return None
        return answer.criterion, answer.verdict, pending.facts.pairwise

    def _remember(self, plain: tuple[str, str, bool]) -> None:
        if len(self._plain) < _MOST_PLAIN:
            self._plain.add(plain)

    def _criteria_of(self, pending: Pending) -> Mapping[str, Criterion]:
        own = pending.facts.criteria
        return {**self._criteria, **{c.name: c for c in own}} if own else self._criteria

    def _failed(self, pending: Pending, error: BaseException, call: CallFacts) -> Rows:
        """Return the rows of a call that raised: one a declared criterion, else one that counts for every criterion."""
        names = list(self._criteria_of(pending)) or [EVERY_CRITERION]
        answers = [Answer(criterion=name, outcome="error") for name in names]
        text = type(error).__name__
        if self._keeps_text:  # what an error says may repeat what was judged
            text = self._redact.text(f"{text}: {error}".rstrip(": "))[:_LONGEST_ERROR]
        return self._rows(pending, answers, None, call, error=text)

    def _of_kind(self, answer: Answer) -> Answer:
        """Turn a score among labels, or a label among scores, into an unparsed answer.

        Before an answer fitted the rule nothing is turned: if none ever does, the rule is wrong, not the answers.
        """
        if answer.verdict is None:
            return answer
        numeric = is_number(answer.verdict)
        if self._folds == "any" or numeric == (self._folds == "numbers"):
            self._numeric.setdefault(answer.criterion, numeric)
        if self._numeric.get(answer.criterion, numeric) == numeric:
            return answer
        note = f"answered {verdict_text(answer.verdict)}, a {'score' if numeric else 'label'} where others are not"
        return replace(answer, verdict=None, outcome="unparsed", reasoning=answer.reasoning or note)

    def _text(self, text: str, redact: Redactor) -> str | None:
        return redact.text(text) if self._keeps_text else self._keep(text)

    def _attributes(
        self, case: Mapping[str, str | float], call: Mapping[str, str | float], redact: Redactor
    ) -> Mapping[str, str | float]:
        given = {**case, **call} if call else case
        if not given and self._once is None:
            return {}
        if self._once is not None:
            given = {**given, "warning": "; ".join(str(told) for told in (call.get("warning"), self._once) if told)}
        return {name: redact.text(value) if isinstance(value, str) else value for name, value in given.items()}

    def _rows(
        self,
        pending: Pending,
        answers: Sequence[Answer],
        judgment: Judgment | None,
        call: CallFacts,
        error: str | None = None,
    ) -> Rows:
        perturbation, facts, case_id = pending.perturbation, pending.facts, pending.case_id
        call_id = pending.call_id(self._run, self._name) if len(answers) > 1 else None
        hashed = None if self._digest is None else pending.hash(self._digest)
        redact = self._redact.current()
        attributes = self._attributes(facts.attributes, judgment.facts if judgment is not None else {}, redact)
        said = judgment or _NOTHING_SAID
        rows, said = [], booked(said, call.billed) if call.billed else said
        model = redact.text(said.model) if said.model else self._model
        for number, answer in enumerate(answers):
            first = number == 0
            evidence = said if first else _NOTHING_SAID
            rows.append(
                _row(  # in the order of the fields
                    case_id,
                    _restored(answer, perturbation),
                    self._run,
                    self._name,
                    answer.criterion,
                    perturbation.name,
                    pending.repetition,
                    perturbation.swaps,
                    answer.outcome if answer.verdict is None else "ok",
                    facts.gold_of(answer.criterion),
                    call_id,
                    None if answer.reasoning is None else self._text(answer.reasoning, redact),
                    None if evidence.raw is None else self._text(evidence.raw, redact),
                    model,
                    evidence.input_tokens,
                    evidence.output_tokens,
                    evidence.cached_input_tokens,
                    evidence.cache_write_tokens,
                    said.service_tier,
                    said.finish_reason,
                    call.latency_s if first else None,
                    call.attempts if first else None,
                    error,
                    call.asked_at,
                    hashed,
                    _shares(answer, perturbation),
                    attributes,
                )
            )
        return tuple(rows)


def _addressed(answers: list[Answer], criteria: Mapping[str, Criterion]) -> list[Answer]:
    """Say which criteria an answer without one is about: the only one, or every one when it says nothing."""
    only = answers[0] if answers else Answer(outcome="unparsed")
    if len(answers) > 1 or only.criterion != DEFAULT_CRITERION or DEFAULT_CRITERION in criteria:
        return answers
    silent = only.verdict is None and not (only.outcome == "ok" and only.probabilities is not None)
    if len(criteria) == 1 or (silent and criteria):
        return [replace(only, criterion=name) for name in criteria]
    return [replace(only, criterion=EVERY_CRITERION)] if silent else answers


def _as_declared(answer: Answer, criteria: Mapping[str, Criterion], pending: Pending) -> Answer:
    """Turn an answer outside the declared labels or scale, or with such an option, into an unparsed one."""
    declared = criteria.get(answer.criterion)
    if declared is None and pending.facts.pairwise and answer.criterion == DEFAULT_CRITERION:
        return _as_preference(answer)
    if declared is None:
        return answer
    said: list[Verdict] = [] if answer.verdict is None else [answer.verdict]
    said += [_read(option, declared) for option in _options(answer)]
    strange = next((one for one in said if not _is_declared(one, declared)), None)
    return answer if strange is None else _unparsed(answer, f"answered {verdict_text(strange)}, which is not declared")


def _options(answer: Answer) -> list[str]:
    """Return the options that probabilities name; those that are malformed are a failed call, later."""
    shares: object = answer.probabilities if answer.outcome == "ok" else None
    return [name for name in shares if isinstance(name, str)] if isinstance(shares, Mapping) else []


def _read(option: str, declared: Criterion) -> Verdict:
    """Return the verdict an option stands for: that of a scale is the text of a level."""
    score = None if declared.scale is None else read_score(option)
    return option if score is None else score


def _unparsed(answer: Answer, note: str) -> Answer:
    return replace(answer, verdict=None, outcome="unparsed", reasoning=answer.reasoning or note)


def _normalised(answer: Answer) -> Answer:
    """Return the answer with a canonical verdict, or without one and an outcome that says so."""
    try:
        verdict = verdict_from_json(answer.verdict)
    except ValueError as error:
        return replace(answer, verdict=None, outcome="unparsed", reasoning=answer.reasoning or str(error))
    if verdict == ABSTAIN:
        return replace(answer, verdict=None, outcome="refused")
    if verdict is None:
        silent = answer.outcome == "ok" and answer.probabilities is None
        return replace(answer, verdict=None, outcome="unparsed") if silent else answer
    return answer if verdict is answer.verdict else replace(answer, verdict=verdict)


def _restored(answer: Answer, perturbation: Perturbation) -> Verdict | None:
    """Return the verdict in the canonical frame."""
    if answer.verdict is None:
        return None
    given: object = perturbation.restore(answer.verdict, answer.criterion)
    if given is answer.verdict:
        return answer.verdict
    restored = verdict_from_json(given)
    if restored is None:
        raise ValueError(f"perturbation {perturbation.name!r} restored {verdict_text(answer.verdict)} to no verdict")
    return restored


def _shares(answer: Answer, perturbation: Perturbation) -> dict[str, float] | None:
    """Return the probabilities in the canonical frame, each option's where its verdict goes."""
    given = probabilities_from_json(answer.probabilities)
    if given is None or (answer.verdict is None and answer.outcome != "ok"):
        return None
    restored = {_option(option, answer, perturbation): share for option, share in given.items()}
    if len(restored) < len(given):
        raise ValueError(f"perturbation {perturbation.name!r} restored two options to one")
    return restored


def _option(option: str, answer: Answer, perturbation: Perturbation) -> str:
    verdict: Verdict = float(option) if is_number(answer.verdict) else option
    restored = perturbation.restore(verdict, answer.criterion)
    return option if restored == verdict else verdict_text(restored)


def _as_preference(answer: Answer) -> Answer:
    """Return an undeclared answer about a pair as A, B or TIE, the only labels a swap can be undone for."""
    verdict = answer.verdict
    if is_number(verdict) or (isinstance(verdict, frozenset) and verdict.isdisjoint(_PREFERENCES)):
        return answer  # neither has a side
    options = _options(answer)
    letters = [option.upper() for option in options]
    said: list[Verdict] = [*([] if verdict is None else [verdict]), *options]
    strange = next((one for one in said if not isinstance(one, str) or one.upper() not in _PREFERENCES), None)
    if strange is not None:
        told = f"answered {verdict_text(strange)}, which is not A, B or TIE"
        return _unparsed(answer, f"{told}; declare the criterion's labels if it should be")
    if len(set(letters)) < len(letters):
        return _unparsed(answer, f"answered about one option twice: {', '.join(options)}")
    letter = verdict.upper() if isinstance(verdict, str) else None
    if letter == verdict and letters == options:
        return answer
    shares = answer.probabilities
    if shares is not None and len(letters) == len(shares):
        shares = dict(zip(letters, shares.values(), strict=True))
    return replace(answer, verdict=letter, probabilities=shares)


def _is_declared(verdict: object, declared: Criterion) -> bool:
    if declared.scale is not None:
        return is_number(verdict) and declared.scale[0] <= verdict <= declared.scale[1]  # type: ignore[operator]
    if declared.labels is None:
        return True
    return verdict.issubset(declared.labels) if isinstance(verdict, frozenset) else verdict in declared.labels
