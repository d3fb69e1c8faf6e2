"""What an evaluation left behind, read back: measurements joined with ADK's results, labelled, calibrated, split."""

from .loading import AdkResults, load_results
from .records import AdkResult

__all__ = ["AdkResult", "AdkResults", "load_results"]
