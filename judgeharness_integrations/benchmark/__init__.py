"""A multi-turn benchmark for judges from your own documents: made, verified, judged, ranked, curated, audited."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .documents import read_documents
    from .folder import BenchmarkFolder, Settings
    from .judges import ConversationJudge, PairJudge, pair_case
    from .pair import Conditions, Document, Drawing, Pair, Taxonomy, draw_conditions
    from .taxonomy import load_taxonomy

__all__ = [
    "BenchmarkFolder",
    "Conditions",
    "ConversationJudge",
    "Document",
    "Drawing",
    "Pair",
    "PairJudge",
    "Settings",
    "Taxonomy",
    "draw_conditions",
    "load_taxonomy",
    "pair_case",
    "read_documents",
]

# Loaded at first use: records bring pydantic, judges bring jinja2.
__getattr__ = lazy(
    __name__,
    {
        "BenchmarkFolder": "folder",
        "Conditions": "pair",
        "ConversationJudge": "judges",
        "Document": "pair",
        "Drawing": "pair",
        "Pair": "pair",
        "PairJudge": "judges",
        "Settings": "folder",
        "Taxonomy": "pair",
        "draw_conditions": "pair",
        "load_taxonomy": "taxonomy",
        "pair_case": "judges",
        "read_documents": "documents",
    },
)
