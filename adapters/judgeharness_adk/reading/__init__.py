"""What an ADK judge wrote -> one `Answer` a criterion, read strictly: what is not said plainly is unparsed.

Plain text in, nothing of ADK needed. Every reader takes time linear in the text and raises on none.
"""

from __future__ import annotations

from .rubrics import read_rubrics
from .sentences import read_sentences, read_validity, split_sentences

__all__ = ["read_rubrics", "read_sentences", "read_validity", "split_sentences"]
