"""Whether the order holds: other methods, fewer matches, other pairs, one judge less."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from judgeharness_integrations.cli._agreement_printing import Row, number, titled
from judgeharness_integrations.cli._printing import percent, safe
from judgeharness_integrations.ranking.comparing.correlation import RankCorrelation
from judgeharness_integrations.ranking.portfolio import Portfolio

__all__ = ["firmness_table"]

_SHARES = (0.1, 0.5)  # of the matches
_TOP = 5


def firmness_table(made: Portfolio) -> RenderableType | None:
    """Return how alike the order is to others, a row each; None where there is no other."""
    rows = [*_correlated(made), *_fewer(made), *_without_one(made)]
    if not rows:
        return None
    return titled("does the order hold?", ("compared", "judges", "Spearman", "Kendall", "top 5 %"), rows)


def _correlated(made: Portfolio) -> Iterator[Row]:
    for one in made.methods:
        if made.report.method in (one.x, one.y):
            yield _row(f"{one.x} with {one.y}", one)
    for comparison in made.robustness:
        # the robustness sheet compares by Bradley-Terry and EIP again
        if comparison.group is None and comparison.correlation is not None and "eip" not in comparison.name:
            yield _row(comparison.name, comparison.correlation)
    for other in made.against:
        yield _row(f"{other.name} with {other.name_against}", other.correlation)
        if other.correlation_without_generators is not None:
            yield _row("the same without judges that wrote answers", other.correlation_without_generators)


def _row(name: str, one: RankCorrelation) -> Row:
    top = percent(dict(one.top).get(_TOP))
    return [safe(name, 60), str(one.judges), number(one.spearman), number(one.kendall), top]


def _fewer(made: Portfolio) -> Iterator[Row]:
    for one in made.stability:
        if one.group is None and one.fraction in _SHARES:
            name = f"{100 * one.fraction:.0f} % of the matches, {one.draws - one.unrated} of {one.draws} draws"
            yield [safe(name), "", number(one.spearman), number(one.kendall), percent(one.top5)]


def _without_one(made: Portfolio) -> Iterator[Row]:
    known = [(one.spearman, one) for one in made.leave_one_out if one.spearman is not None]
    if known:
        _, one = min(known, key=lambda entry: entry[0])
        name = f"without {one.judge}, the worst of all"
        yield [safe(name, 42), str(len(made.leave_one_out) - 1), number(one.spearman), number(one.kendall), "-"]
