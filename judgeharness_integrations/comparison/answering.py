"""Adjusted p-values -> one of six answers, with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from judgeharness_integrations.comparison.difference import Difference, least_p
from judgeharness_integrations.comparison.noise import NoiseTest
from judgeharness_integrations.comparison.power import PowerBasis
from judgeharness_integrations.comparison.report import Answer
from judgeharness_integrations.comparison.values import Values
from judgeharness_integrations.comparison.words import change_text, p_text, size_text
from judgeharness_integrations.sequential.clusters import unequal_clusters

__all__ = ["answered", "of_designs", "untested", "without_failures"]

_FALLS_ARE_BETTER = frozenset({"mean_error"})


def untested(values: Values, main: Difference | None) -> str:
    """Return why a criterion cannot be compared at all; empty where it can."""
    if not values.pairs:
        return "no case was measured in both runs"
    if values.kind == "mixed":
        return "decisions are scores on one side and labels on the other: compare runs of one rule and scale"
    for side, run in ((0, "before"), (1, "after")):
        if all(pair[side].status == "not_graded" for pair in values.states):
            return f"no case was graded {run}"
    if main is not None and main.p is None and main.n and values.sequential:
        return _without_evidence(values)
    if main is None or main.p is None:
        return "no case has a score on both sides"
    return ""


def _without_evidence(values: Values) -> str:
    if unequal := unequal_clusters(values.clusters):
        return f"{unequal}: compare runs of equally many cases a cluster, or without --sequential"
    return "a sequential comparison of scores needs the ends of their scale: give --scale 1:10"


def answered(
    main: Difference,
    noise: NoiseTest,
    *,
    p_adjusted: float,
    noise_adjusted: float | None,
    alpha: float,
    basis: PowerBasis | None,
    detectable: float | None,
) -> tuple[Answer, str]:
    """Return the answer about a criterion that was tested, and why."""
    found, beyond = p_adjusted <= alpha, noise_adjusted is not None and noise_adjusted <= alpha
    told = f"{change_text(main)}, p {p_text(main.p)}{_adjusted(main.p, p_adjusted)}"
    if found:
        answer = _direction(main)
        return answer, "; ".join([told, *_flips(noise, beyond=beyond)])
    least = 0.0 if main.clusters is None or "e-process" in main.method else least_p(main.clusters)
    too_few = f"{told}; {_counted(main)} too few to find any change"
    if beyond:
        net = too_few if least > alpha else f"no net change: {told}"
        return "flips more than noise", "; ".join([*_flips(noise, beyond=True), net])
    if least > alpha or (basis is not None and detectable is None):
        return "cannot tell", too_few
    smallest = "" if detectable is None else f"; 80 % power for a change of {size_text(main, detectable)}"
    if "e-process" in main.method:
        smallest = "; looked at as often as one likes, further cases may still show one"
    elif basis is None and main.difference is not None:
        smallest = "; nothing varies, so that the change it could find is not known"
    return "no difference found", "; ".join([f"{told}{smallest}", *_flips(noise, beyond=False)])


def without_failures(
    answer: Answer, reason: str, values: Values, main: Difference, *, level: float
) -> tuple[Answer, str]:
    """Return an answer with what failed beside it: a change that only failures make is none of the judge's."""
    before, after = values.failures
    reason = f"{reason}; {before} cases were not graded before, {after} after"
    if answer not in {"worse", "better", "different"}:
        return answer, reason
    graded = values.graded().main()
    same_way = (graded.difference or 0) * (main.difference or 0) >= 0
    if graded.p is not None and graded.p <= level and same_way:
        return answer, reason
    told = f"among cases graded in both runs nothing shows: {change_text(graded)}, p {p_text(graded.p)}"
    return "cannot tell", f"{reason}; failures are no verdicts, and {told}"


def of_designs(answer: Answer, parts: Sequence[str]) -> str:
    """Return what has to stand behind a reason where the runs measured in different ways; `parts` are those ways."""
    if not parts or answer in {"no difference found", "cannot tell"}:
        return ""
    return f"; the designs differ ({', '.join(parts)}), which can move the numbers of one and the same judge as far"


def _counted(main: Difference) -> str:
    """Return of how many cases a difference is, and of clusters the smallest p that a test of so many can reach."""
    if main.clusters is None:
        return "1 case is" if main.n == 1 else f"{main.n} cases are"
    of = "1 cluster" if main.clusters == 1 else f"{main.clusters} clusters"
    return f"{main.n} cases in {of} (p cannot be below {p_text(least_p(main.clusters))}) are"


def _adjusted(p: float | None, adjusted: float) -> str:
    return "" if p_text(p) == p_text(adjusted) else f" (Holm {p_text(adjusted)})"


def _direction(main: Difference) -> Answer:
    if main.difference is None:
        return "different"
    rises = (main.difference > 0) is (main.measure not in _FALLS_ARE_BETTER)
    return "better" if rises else "worse"


def _flips(noise: NoiseTest, *, beyond: bool) -> Iterator[str]:
    if noise.p is None or noise.expected is None:
        return
    said = "more than noise makes" if beyond else "no more than noise makes"
    if beyond and noise.high is not None and (noise.observed or 0) <= noise.high:
        # samples that all changed flip however they are split: the expected number says nothing then
        yield (
            f"{noise.observed} of {noise.cases} decisions flipped, between answers further apart than noise makes them "
            f"(p {p_text(noise.p)})"
        )
        return
    yield (
        f"{noise.observed} of {noise.cases} decisions flipped, {said} "
        f"({noise.expected:.1f} expected of noise, 95 % of the time {noise.low}-{noise.high}; p {p_text(noise.p)})"
    )
