"""Rows of verdict logs, written short, and strategies that draw them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from judgeharness_integrations.verdictlog.row import Verdict

FAILURES = ("unparsed", "refused", "error")


def sampled(verdicts: Iterable[Verdict | None], **common: Any) -> list[VerdictRow]:
    """Rows of one case in order of repetition; None is a sample that could not be parsed."""
    fields = {"case_id": "c1"} | common
    return [
        VerdictRow(verdict=verdict, repetition=number, outcome="unparsed" if verdict is None else "ok", **fields)
        for number, verdict in enumerate(verdicts)
    ]


def both_orders(shown: Iterable[Verdict | None], swapped: Iterable[Verdict | None], **common: Any) -> list[VerdictRow]:
    """Rows of a pair asked in both orders, verdicts in the canonical frame."""
    return [
        *sampled(shown, **common),
        *sampled(swapped, perturbation="position_swap", swapped=True, **common),
    ]


def samples(
    verdicts: st.SearchStrategy[Verdict], *, perturbations: Sequence[str] = ("none", "format_change"), least: int = 1
) -> st.SearchStrategy[list[VerdictRow]]:
    """Rows of one case under some perturbations, failures of every kind among them; keys are distinct."""
    answer = st.one_of(verdicts, st.sampled_from(FAILURES).map(_Failed))

    def laid_out(drawn: list[tuple[str, Verdict | _Failed]]) -> list[VerdictRow]:
        counts: dict[str, int] = {}
        rows = []
        for perturbation, value in drawn:
            repetition = counts[perturbation] = counts.get(perturbation, -1) + 1
            failed = isinstance(value, _Failed)
            rows.append(
                VerdictRow(
                    case_id="c1",
                    verdict=None if failed else value,
                    outcome=value.outcome if failed else "ok",
                    perturbation=perturbation,
                    repetition=repetition,
                    swapped="position_swap" in perturbation,
                )
            )
        return rows

    return st.lists(st.tuples(st.sampled_from(perturbations), answer), min_size=least, max_size=14).map(laid_out)


def balanced_pairs(verdicts: st.SearchStrategy[Verdict]) -> st.SearchStrategy[list[VerdictRow]]:
    """Rows of one pair asked equally often in both orders."""
    pair = st.tuples(st.one_of(verdicts, st.none()), st.one_of(verdicts, st.none()))
    return st.lists(pair, min_size=1, max_size=7).map(lambda drawn: both_orders(*zip(*drawn, strict=True)))


def with_evidence(
    rows: Sequence[VerdictRow], texts: Sequence[str | None], ids: Sequence[str | None]
) -> list[VerdictRow]:
    """Give rows the raw texts and response ids that prove or disprove copies."""
    return [
        replace(row, raw=text, attributes={} if response is None else {"response_id": response})
        for row, text, response in zip(rows, texts, ids, strict=False)
    ]


class _Failed:
    def __init__(self, outcome: str) -> None:
        self.outcome = outcome

    def __repr__(self) -> str:
        return f"<{self.outcome}>"
