"""What stands in the way of taking a test at its word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from judgeharness_integrations.agreement.alttest.hypothesis import FEWEST_CLUSTERS, too_few

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.advantage import Advantage
    from judgeharness_integrations.agreement.alttest.decisions import Decisions
    from judgeharness_integrations.agreement.alttest.winningrate import WinningRate

__all__ = ["caveats", "untold_by_cluster"]

_MANY_TIES = 0.5
_PASSES = 0.5
_FEW = 30


def caveats(
    found: Advantage,
    rate: WinningRate,
    own: Decisions,
    beside: tuple[Decisions | None, Decisions | None],
    cluster: str | None,
) -> Iterator[str]:
    """Yield the warnings of one test of tested annotators.

    Args:
        found: the comparisons.
        rate: rho and the rates beside it.
        own: what the t-test of the paper decided.
        beside: what Tango's test and the cluster-robust test decided; None where they do not apply.
        cluster: the column of the clusters.

    """
    tango, clustered = beside
    if rate.tie_rate >= _MANY_TIES:
        wins = "there is no other comparison"
        if rate.decisive_rate is not None:
            wins = f"of the others the candidate wins {100 * rate.decisive_rate:.0f} %"
        yield (
            f"{100 * rate.tie_rate:.0f} % of the comparisons are ties, which both sides win, so rho and omega are high "
            f"for any candidate; {wins}"
        )
    fewest = int(found.tally.n[found.tested].min())
    if fewest < _FEW:
        yield f"an annotator has {fewest} instances: below {_FEW} the t-test rejects too often, see Tango's test"
    alone = found.tally.n[found.tested] == 1
    for which, cause in ((alone, "one instance shows no spread"), (~alone, "d is epsilon throughout")):
        if undefined := int(np.isnan(own.tested.p[which]).sum()):
            yield f"{undefined} of {len(found.tested)} p-values are undefined ({cause}): not rejected"
    if tango is not None and _passes(tango) != _passes(own):
        yield "omega by the t-test and omega by Tango's test lie on two sides of .5: too close to the edge to tell"
    if clustered is not None and not untold_by_cluster(clustered, cluster):
        yield from _by_cluster(own, clustered, cluster)


def _passes(decisions: Decisions) -> bool:
    return decisions.omega is not None and decisions.omega >= _PASSES


def _by_cluster(own: Decisions, clustered: Decisions, cluster: str | None) -> Iterator[str]:
    """Yield what clustering changes, and whom it leaves out."""
    if _passes(own) != _passes(clustered):
        yield f"omega and omega clustered by {cluster} lie on two sides of .5"
    left_out = int((~clustered.tested.counted).sum())
    if left_out:
        yield (
            f"clustered by {cluster}, {left_out} of {len(own.rejected)} annotators are left out: their clusters weigh "
            f"as much as fewer than {FEWEST_CLUSTERS} of equal size"
        )


def untold_by_cluster(clustered: Decisions, cluster: str | None) -> str | None:
    """Return why the cluster-robust test tells nothing of tested annotators; None where it does."""
    tested = clustered.tested
    assert tested.clusters is not None  # noqa: S101 - it is the cluster-robust test
    assert tested.effective is not None  # noqa: S101 - likewise
    if not tested.counted.any():
        most = int(tested.effective.argmax())
        few = too_few(int(tested.clusters[most]), float(tested.effective[most]))
        return f"an annotator's instances come from few clusters ({cluster}): {few}"
    if np.isnan(tested.p).all():
        return f"the wins do not vary between the clusters of {cluster}, so that nothing can be tested"
    return None
