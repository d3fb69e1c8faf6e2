"""Labels that were selected by what the judge decided: which corrections they spoil."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from judgeharness_integrations.calibration.corrected.rateestimate import Method, RateEstimate
from judgeharness_integrations.calibration.corrected.report import LabelsAre
from judgeharness_integrations.calibration.corrected.sample import Sample
from judgeharness_integrations.calibration.selection import Selection, selection_of

__all__ = ["note_of", "other_mix_note", "selected", "withheld"]

_WITHIN: Final[Method] = "tenenbein"
_WHY: Final = "withheld, as the labelled items were selected by what the judge decided"


def selected(sample: Sample, labels_are: LabelsAre) -> Selection | None:
    """Return the test whether the labelled items were selected by verdict, where it fires.

    Items of another mix are judged otherwise by what they are (see `other_mix_note`), and so are counts that nobody
    says the mix of.
    """
    if labels_are == "other_mix" or (sample.apart and labels_are == "undeclared"):
        return None
    return _found(sample)


def other_mix_note(sample: Sample) -> str | None:
    """Return on what a declared other mix rests, where labelled items are judged otherwise than the rest.

    Counts cannot tell another mix from labels that were selected by verdict, which make the corrected rate wrong.
    """
    if (found := _found(sample)) is None:
        return None
    return (
        f"{found.counts}: the correction holds only if the labelled items were chosen without looking at the judge's "
        "decisions; where they were chosen by verdict it is wrong, whatever its interval"
    )


def _found(sample: Sample) -> Selection | None:
    decisions = [*sample.judged.tolist(), *sample.rest.tolist()]
    found = selection_of(
        ["positive" if one else "not positive" for one in decisions],
        [True] * len(sample.judged) + [False] * len(sample.rest),
        [*sample.label_clusters, *sample.rest_clusters] if sample.clustered else None,
    )
    return found if found is not None and found.found else None


def withheld(estimate: RateEstimate) -> RateEstimate:
    """Return an estimate without its numbers, where it takes the labelled items for a random sample.

    Tenenbein's is made of the share of right decisions among those of one kind, which selection by verdict leaves as it
    is: it stays, and says what it rests on then.
    """
    if not estimate.applicable:
        return estimate
    if estimate.method == _WITHIN:
        told = "it holds where labels were drawn at random among the items judged alike"
        return replace(estimate, reason="; ".join(filter(None, (estimate.reason, told))))
    return RateEstimate(
        method=estimate.method, assumes=estimate.assumes, basis=estimate.basis, applicable=False, reason=_WHY
    )


def note_of(selection: Selection) -> str:
    """Return what was found and what is to be done, in a sentence."""
    return (
        f"these labels are hardly a random sample: {selection.counts}, so that no interval is chosen, and sensitivity "
        "and specificity are withheld; label a random sample, or, if they were labelled elsewhere whatever the judge "
        "had decided, declare that they come from another mix"
    )
