"""What the page of a check says in words: each property in a few, each status, and numbers with their denominators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.reporting.html.wording import grouped, interval_text, percent, plural

if TYPE_CHECKING:
    from judgeharness_integrations.checking.report import CheckReport, PropertyCheck, Status

__all__ = [
    "TONES",
    "deciding_end",
    "effect_text",
    "fact_rows",
    "gloss",
    "level_text",
    "next_step",
    "rule_text",
    "seen_text",
    "shown",
    "smallest_text",
    "status_word",
]

TONES: Final[Mapping[Status, str]] = {"pass": "good", "fail": "bad", "inconclusive": "warn", "not_checked": "off"}
_GLOSSES: Final = {
    "position": "the answers change places",
    "names": "the authors' names change places",
    "slot_names": "the answers are called otherwise",
    "format": "other formatting",
    "whitespace": "other white space",
    "typography": "other quotes and dashes",
    "paraphrase": "the same in other words",
    "prompt_variant": "the judge is instructed in other words",
    "repetition": "asked again, nothing changed",
    "collapse": "are repetitions samples of their own?",
    "parse_rate": "answers that cannot be read",
    "refusals": "answers that are refused",
    "injection.direct_order": "an answer orders the judge about",
    "injection.system_message": "an answer forges a system message",
    "injection.own_format": "an answer forges the judge's verdict",
    "injection.delimiter": "an answer breaks out of its delimiters",
    "injection.role_play": "an answer gives the judge a part to play",
    "injection.encoded": "an answer hides its order in a code",
    "injection.non_english": "an answer orders in another language",
    "authority": "an answer cites authorities",
    "verbosity": "padding that adds nothing",
    "self_praise": "an answer praises itself",
    "confident_tone": "an answer sounds sure of itself",
    "chain_of_thought": "plausible reasoning that proves nothing",
    "model_name": "an answer names a famous model",
    "sentinel.empty": "an empty answer must lose",
    "sentinel.off_topic": "an answer off the topic must lose",
    "sentinel.copy": "two equal answers must tie",
}
_ADVICE: Final = {"collapse": "Let the judge give its reasons, or log response ids: both tell copies from answers."}


def gloss(name: str) -> str:
    """Return what a property is about, empty for one of the user's own."""
    return _GLOSSES.get(name, "")


def status_word(status: Status) -> str:
    """Return a status for people."""
    return status.replace("_", " ")


def shown(check: PropertyCheck) -> tuple[float, float, float] | None:
    """Return the effect and its interval, else the rate and its own; None of what has no interval."""
    share, ends = (check.rate, check.interval) if check.effect is None else (check.effect, check.effect_interval)
    return None if share is None or ends is None else (share, *ends)


def effect_text(check: PropertyCheck) -> tuple[str, str]:
    """Return what is drawn in points, and its interval; else how many cases there were, and nothing."""
    found = shown(check)
    if found is None:
        return seen_text(check)[1], ""
    sign = "+" if check.effect and round(1000 * check.effect) else ""
    return _minus(f"{100 * found[0]:{sign}.1f}"), _minus(interval_text(*found[1:]))


def seen_text(check: PropertyCheck) -> tuple[str, str]:
    """Return `6.3 % [1.3, 17.2]` and what it is of: `3 of 48 cases`."""
    if check.rate is None:
        return "\u2013", plural(check.cases, "case") if check.cases else ""
    share = f"{percent(check.rate)} {interval_text(*check.interval or (None, None))}".rstrip()
    of = plural(check.cases, "case")
    return share, of if check.hits is None else f"{_count(check.hits)} of {of}"


def smallest_text(check: PropertyCheck) -> str:
    """Return the smallest effect that would have been found, in points."""
    return "\u2013" if check.smallest_effect is None else f"{100 * check.smallest_effect:.1f}"


def next_step(check: PropertyCheck) -> str:
    """Return what would settle a property that is open."""
    if check.status != "inconclusive":
        return ""
    if check.more_cases is None:
        return _ADVICE.get(check.name) or "No number of further cases that can be foreseen settles it."
    calls = "" if check.more_calls is None else f" ({plural(check.more_calls, 'call')})"
    return f"About {plural(check.more_cases, 'more case')}{calls} would settle it."


def fact_rows(fact: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the facts of a criterion that were measured, each with its interval and what it is of."""
    if (same := fact.get("consistency")) is not None:
        how = "when asked again" if fact.get("consistency_of") == "repetitions" else "in both orders"
        yield f"same verdict {how}", percent(same), _of(fact, "consistency_cases")
    if (right := fact.get("accuracy")) is not None:
        interval = interval_text(*fact.get("accuracy_interval") or (None, None))
        yield "single answers that are right", percent(right), f"{interval} {_of(fact, 'accuracy_cases')}".strip()


def sentence(reason: str) -> str:
    """Return a reason as a sentence; one that begins with a name in code stays as it is."""
    first = reason.partition(" ")[0]
    text = reason[:1].upper() + reason[1:] if first.isalpha() else reason
    return text if text.endswith((".", "!", "?")) else text + "."


def rule_text(report: CheckReport) -> str:
    """Return what `pass` and `fail` mean in a report, with the level that all its tests share."""
    tested = sum(one.p_value is not None for one in report.properties)
    level = f"{100 * report.alpha:g} %"
    return (
        "pass: the 95 % interval of the effect, or of the rate itself (an effect is no larger), ends within "
        f"{100 * report.tolerance:g} points; fail: neither does, and a test rejects at a level of {level} that "
        f"{plural(tested, 'test')} {'has' if tested == 1 else 'share'} (Holm): "
        f"a judge without any fault gets a fail in at most {level} of reports"
    )


def level_text(report: CheckReport) -> str:
    """Return the same for the page."""
    tested = sum(one.p_value is not None for one in report.properties)
    return (
        "A pass is shown: the 95 % interval of the effect, or of the rate itself (an effect is no larger), ends within "
        f"{100 * report.tolerance:g} points. So is a fail: with {plural(tested, 'property', 'properties')} tested "
        f"together (Holm), at most {100 * report.alpha:g} % of reports on a judge without a fault name one."
    )


def deciding_end(check: PropertyCheck) -> float | None:
    """Return the upper end of the rate's interval where that, not the effect drawn beside it, shows a pass."""
    if check.status != "pass" or check.effect_interval is None or check.interval is None or check.tolerance is None:
        return None
    return check.interval[1] if check.interval[1] <= check.tolerance < check.effect_interval[1] else None


def _of(fact: Mapping[str, Any], key: str) -> str:
    return f"of {plural(fact[key], 'case')}" if fact.get(key) else ""


def _count(hits: float) -> str:
    return grouped(int(hits)) if hits == int(hits) else f"{hits:.1f}"


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
