"""Two judges with a fault each."""

from judgeharness_integrations import PairwiseCase


def prefers_longer(case: PairwiseCase) -> str:
    """Take the longer answer, whatever it says."""
    return "A" if len(case.output) > len(case.output_b) else "B"


def likes_the_first(case: PairwiseCase) -> str:
    """Take what is shown first."""
    del case
    return "A"
