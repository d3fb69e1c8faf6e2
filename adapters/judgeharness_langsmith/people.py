"""What people said in feedback: whose it is, what a correction changes, and which of it is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from langsmith.schemas import Feedback

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.verdictlog.row import ABSTAIN, Verdict, is_number

__all__ = ["SOURCES", "Said", "Scores", "Source", "said_by_people", "source_run", "verdicts_of"]

Scores: TypeAlias = Literal["labels", "numbers"]
Source: TypeAlias = Literal["app", "api"]

SOURCES: tuple[Source, ...] = ("app",)
_KNOWN_SOURCES = frozenset({"app", "api"})
_CORRECTION = "correction"


@dataclass(frozen=True, kw_only=True)
class Said:
    """What one person said about one run: a score, a text, or both. `who` identifies the person, `name` is read."""

    run_id: str
    who: str
    name: str
    score: float | None
    text: str | None
    feedback: Feedback


def said_by_people(feedback: Iterable[Feedback], sources: Collection[str] = SOURCES) -> tuple[list[Said], Counter[str]]:
    """Return what people said of one key, and reason -> how much feedback was left out.

    Of what one person said about a run the last counts. A correction stands for what it corrects; LangSmith does not
    tell who made it, so that corrections of a model's feedback are of one annotator, `correction`. Feedback of an
    application that names no user is of one annotator, too.

    Args:
        feedback: of one key, in any order.
        sources: where people give it: `app` (LangSmith's pages) and `api` (an application, not an evaluator's run).

    """
    if strange := set(sources) - _KNOWN_SOURCES:
        raise UsageError(f"sources holds {min(map(str, strange))!r}: people's feedback is of 'app' or 'api'.")
    skipped: Counter[str] = Counter()
    last: dict[tuple[str, str], Said] = {}
    for one in sorted(feedback, key=lambda one: (one.modified_at, one.created_at)):
        said = _said(one, sources)
        if isinstance(said, str):
            skipped[said] += 1
            continue
        skipped["replaced by the same person later"] += (said.run_id, said.who) in last
        last[said.run_id, said.who] = said
    return _with_distinct_names(list(last.values())), +skipped


def _said(one: Feedback, sources: Collection[str]) -> Said | str:
    """Return what a person said, or why it is not a label of a run."""
    if one.run_id is None:
        return "on no run"
    if one.comparative_experiment_id is not None or one.feedback_group_id is not None:
        return "from a comparison of runs"
    source, person = one.feedback_source, _is_person(one, sources)
    score, text = _content(_corrected(one.correction))
    if (score, text) == (None, None):
        if not person:
            return "not from a person"
        score, text = _content({"score": one.score, "value": one.value})
    if (score, text) == (None, None):
        return "without score and value"
    ids = (source.user_id, source.user_name, source.type) if source is not None and person else (_CORRECTION,)
    who = next(str(name) for name in ids if name)
    name = str(source.user_name or who) if source is not None and person else who
    return Said(run_id=str(one.run_id), who=who, name=name, score=score, text=text, feedback=one)


def _is_person(one: Feedback, sources: Collection[str]) -> bool:
    return one.feedback_source is not None and one.feedback_source.type in sources and source_run(one) is None


def source_run(one: Feedback) -> str | None:
    """Return the run of the evaluator that gave the feedback."""
    run = ((one.feedback_source and one.feedback_source.metadata) or {}).get("__run")
    return str(run["run_id"]) if isinstance(run, Mapping) and run.get("run_id") else None


def _corrected(correction: Any) -> Mapping[str, Any]:
    return correction if isinstance(correction, Mapping) else {"value": correction}


def _content(given: Mapping[str, Any]) -> tuple[float | None, str | None]:
    score, value = given.get("score"), given.get("value")
    if score is None and not isinstance(value, str):
        score = value
    score = int(score) if isinstance(score, bool) else score
    text = value.strip() if isinstance(value, str) and value.strip().upper() != ABSTAIN else None
    return score if is_number(score) else None, text or None


def _with_distinct_names(said: Sequence[Said]) -> list[Said]:
    """Return what was said with the id behind the names that several people share."""
    shared = Counter(name for name, _ in {(one.name, one.who) for one in said})
    return [replace(one, name=f"{one.name} ({one.who})") if shared[one.name] > 1 else one for one in said]


def verdicts_of(said: Sequence[Said], scores: Scores | None) -> list[Verdict | None]:
    """Return what was said as labels or numbers, all of one kind; None where it is not of the kind asked for.

    Texts are labels where everybody gave one; otherwise scores count: PASS and FAIL when all of them are 1 or 0,
    numbers when not.

    Args:
        said: what people said.
        scores: read scores, and no texts: as `labels` (1 is PASS, 0 is FAIL) or as `numbers`.

    Raises:
        CaseError: some gave texts and others scores, or a score that is to be a label is neither 0 nor 1.

    """
    if scores not in (None, "labels", "numbers"):
        raise UsageError(f"scores is 'labels' or 'numbers', not {scores!r}.")
    if scores is None and all(one.text is not None for one in said):
        return [one.text for one in said]
    if scores is None and any(one.score is None for one in said):
        raise CaseError("some people gave a text, others a score: say scores='labels' or 'numbers' to read the scores.")
    given = [one.score for one in said if one.score is not None]
    binary = set(given) <= {0, 1}
    if scores == "labels" and not binary:
        odd = next(score for score in given if score not in (0, 1))
        raise CaseError(f"a score of {odd:g} is no label: with scores='labels' 1 is PASS and 0 is FAIL.")
    if scores == "numbers" or not binary:
        return [one.score for one in said]
    return [None if one.score is None else "PASS" if one.score else "FAIL" for one in said]
