"""Every picture of a study that has something to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from judgeharness_integrations.analysis.ranking.analyses import Portfolio
from judgeharness_integrations.analysis.ranking.studying import RankStudy
from judgeharness_integrations.reporting.rankplots.families import (
    draw_class_bias,
    draw_confusion,
    draw_self_preference,
    draw_variants,
)
from judgeharness_integrations.reporting.rankplots.firmness import draw_robustness, draw_slopes, draw_stability
from judgeharness_integrations.reporting.rankplots.leaderboard import (
    draw_audit,
    draw_difficulty,
    draw_leaderboard,
    draw_pareto,
)
from judgeharness_integrations.reporting.rankplots.style import looks_of


def draw_all(
    found: RankStudy, made: Portfolio, folder: Path, *, tell: Callable[[str], object]
) -> dict[str, list[Path]]:
    """Draw into a folder and return picture -> files, none where there is nothing to show.

    Args:
        found: the study.
        made: its analyses.
        folder: is made where it is missing.
        tell: is called with the name of each picture before it is drawn.

    Raises:
        NotInstalledError: matplotlib is not installed.

    """
    files: dict[str, list[Path]] = {}
    for name, draw in _pictures(found, made, folder).items():
        tell(f"drawing {name}")
        files[name] = draw()
    return files


def _pictures(found: RankStudy, made: Portfolio, folder: Path) -> dict[str, Callable[[], list[Path]]]:
    """Return what draws each picture."""
    report = made.report
    order = [one.judge for one in report.judges]
    looks = looks_of({one.judge: one.measures for one in report.judges})
    return {
        "leaderboard": lambda: draw_leaderboard(report, folder),
        "difficulty": lambda: draw_difficulty(found.curation, folder, by=report.by),
        "class_bias": lambda: draw_class_bias(made.class_bias, folder, order=order),
        "confusion": lambda: draw_confusion(made.confusions, folder, order=order),
        "pareto_tokens": lambda: draw_pareto(made.tokens, folder, looks=looks),
        "pareto_money": lambda: draw_pareto(
            made.money, folder, name="pareto_money", x_label="money per pair", log=True, looks=looks
        ),
        "stability": lambda: draw_stability(made.stability, folder),
        "robustness": lambda: draw_robustness(made.robustness, folder, looks=looks),
        "audit": lambda: draw_audit(made.audit, folder),
        "self_preference": lambda: draw_self_preference(made.self_preference, folder, looks=looks),
        "variants": lambda: draw_variants(made.variants, folder),
        "slopes": lambda: [path for one in made.against for path in draw_slopes(one, folder)],
    }
