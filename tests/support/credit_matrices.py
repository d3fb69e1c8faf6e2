"""Credits and decisions written short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from judgeharness_integrations.analysis.ranking.correctness import Credits, Policy, decisions_of
from judgeharness_integrations.verdictlog.row import VerdictRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from judgeharness_integrations.analysis.ranking.correctness import Decisions
    from judgeharness_integrations.verdictlog.row import Verdict

NONE = float("nan")


def matrix(values: Sequence[Sequence[float]], **columns: Sequence[str | float | None]) -> Credits:
    """Credits of pairs p0, p1 ... (rows) and judges a, b ... (columns)."""
    array = np.array(values, np.float64)
    return Credits(
        judges=tuple("abcdefghijklmnop"[: array.shape[1]]),
        pairs=tuple(f"p{number}" for number in range(array.shape[0])),
        values=array,
        columns={name: tuple(cells) for name, cells in columns.items()},
    )


def answers(
    gold: Mapping[str, Verdict | None], given: Mapping[str, Sequence[Verdict | None]], **columns: Sequence[str | float]
) -> list[VerdictRow]:
    """Rows of one answer for each judge and pair, in order of the pairs; None failed, "-" was not asked."""
    return [
        VerdictRow(
            case_id=case,
            judge=judge,
            verdict=verdict,
            outcome="unparsed" if verdict is None else "ok",
            gold=gold[case],
            attributes={name: cells[place] for name, cells in columns.items() if cells[place] != ""},
        )
        for judge, verdicts in given.items()
        for place, (case, verdict) in enumerate(zip(gold, verdicts, strict=True))
        if verdict != "-"
    ]


def decided(
    gold: Mapping[str, Verdict | None],
    given: Mapping[str, Sequence[Verdict | None]],
    *,
    policy: Policy | None = None,
    **columns: Any,
) -> Decisions:
    """Decisions on single answers; see `answers`."""
    return decisions_of(answers(gold, given, **columns), policy or Policy.of("one_order"))


@st.composite
def logs(draw: st.DrawFn) -> list[VerdictRow]:
    """Single answers about pairs with and without gold: labels, a tie, failures, cells that were not asked."""
    pairs = draw(st.integers(1, 6))
    judges = draw(st.integers(1, 4))
    label = st.sampled_from(["A", "B", "TIE"])
    gold = {f"p{number}": draw(st.one_of(label, st.none())) for number in range(pairs)}
    cell = st.one_of(label, st.sampled_from([None, "-"]))
    given = {f"j{number}": draw(st.lists(cell, min_size=pairs, max_size=pairs)) for number in range(judges)}
    groups = draw(st.lists(st.sampled_from(["x", "y", ""]), min_size=pairs, max_size=pairs))
    return answers(gold, given, group=groups)
