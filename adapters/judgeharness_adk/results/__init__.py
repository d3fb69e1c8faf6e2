"""What an evaluation left behind, read back: measurements joined with ADK's results, labelled, calibrated, split."""

from judgeharness_adk.results.loading import AdkResults, load_results
from judgeharness_adk.results.records import AdkResult

__all__ = ["AdkResult", "AdkResults", "load_results"]
