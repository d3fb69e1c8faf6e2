"""The batch engine: what a judge would have sent goes to its provider's batch endpoint, at about half the price."""

from .executor import BatchExecutor, cancel_batches
from .waves import Terms

__all__ = ["BatchExecutor", "Terms", "cancel_batches"]
