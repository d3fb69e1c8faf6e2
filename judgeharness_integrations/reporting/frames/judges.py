"""Replays and rankings as data frames: one row a judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.reporting.frames.building import Columns, Kind, frame

if TYPE_CHECKING:
    import pandas as pd

    from judgeharness_integrations.ranking.report import JudgeRank, RankReport
    from judgeharness_integrations.replay.report import JudgeReplay, ReplayReport

__all__ = ["rank_frame", "replay_frame"]

_REPLAYED: Final[Columns] = {
    "judge": "text",
    "criterion": "text",
    "rule": "text",
    "rule_fixed": "text",
    "kind": "text",
    "cases": "count",
    "decided": "count",
    "abstained": "count",
    "not_graded": "count",
    "coverage": "number",
    "labelled": "count",
    "correct": "count",
    "accuracy_decided": "number",
    "accuracy_low": "number",
    "accuracy_high": "number",
    "tie_decisions": "count",
    "consistency_rate": "number",
    "position_consistency": "number",
    "first_slot_rate": "number",
    "always_first": "count",
    "always_second": "count",
    "position_bias_p": "number",
    "pairs": "count",
    "unparsed": "count",
    "within_case_sd": "number",
    "mean_absolute_error": "number",
    "curtailed": "count",
    "censored": "count",
    "rows": "count",
}
_RANKED: Final[Columns] = {
    "judge": "text",
    "rank": "count",
    "rank_best": "count",
    "rank_worst": "count",
    "place": "text",
    "elo": "number",
    "se": "number",
    "elo_low": "number",
    "elo_high": "number",
    "elo_published": "number",
    "se_published": "number",
    "elo_conditional": "number",
    "se_conditional": "number",
    "elo_conditional_low": "number",
    "elo_conditional_high": "number",
    "eip": "number",
    "correct": "number",
    "n": "count",
    "accuracy": "number",
    "accuracy_low": "number",
    "accuracy_high": "number",
    "agreement": "number",
    "consistency": "number",
    "first_slot_rate": "number",
    "prefers_longer": "number",
    "prefers_longer_pairs": "count",
    "better_longer": "number",
    "better_longer_pairs": "count",
    "agreement_with_judges": "number",
    "unparsed": "count",
    "failed": "count",
    "rows": "count",
    "tokens": "number",
    "input_tokens": "number",
    "output_tokens": "number",
    "cost": "number",
    "provider": "text",
    "open": "flag",
}


def replay_frame(report: ReplayReport) -> pd.DataFrame:
    """Return one row a judge and criterion, with the 95 % Wilson interval of its accuracy; see `JudgeReplay`.

    The accuracy of single calls has a column a perturbation: `single_call_accuracy[none]`.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    calls: dict[str, Kind] = {_call(name): "number" for one in report.judges for name in one.single_call_accuracy or {}}
    facts = {"rule": report.rule, "rule_fixed": report.rule_fixed}
    return frame((_replayed(one) | facts for one in report.judges), {**_REPLAYED, **calls})


def _call(perturbation: str) -> str:
    return f"single_call_accuracy[{perturbation}]"


def _replayed(one: JudgeReplay) -> dict[str, Any]:
    calls = {_call(name): value for name, value in (one.single_call_accuracy or {}).items()}
    return {name: getattr(one, name, None) for name in _REPLAYED} | _ends("accuracy", one.accuracy_interval) | calls


def rank_frame(report: RankReport) -> pd.DataFrame:
    """Return one row a judge, by rank, those without one last; see `JudgeRank` and `JudgeMeasures`.

    Every group of the `by` column has a column of ratings: `elo[coding]`, by EIP `eip[coding]`.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    what = "eip" if report.method == "eip" else "elo"
    groups: dict[str, Kind] = {f"{what}[{name}]": "number" for one in report.judges for name in one.groups}
    return frame((_ranked(one, what) for one in report.judges), {**_RANKED, **groups})


def _ranked(one: JudgeRank, what: str) -> dict[str, Any]:
    best, worst = one.rank_range or (None, None)
    return {
        **{name: getattr(one, name, getattr(one.measures, name, None)) for name in _RANKED},
        "rank_best": best,
        "rank_worst": worst,
        **_ends("elo", one.ci95),
        **_ends("elo_conditional", one.ci95_conditional),
        **_ends("accuracy", one.measures.accuracy_ci95),
        **{f"{what}[{name}]": value for name, value in one.groups.items()},
    }


def _ends(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}
