"""A multi-turn benchmark for judges from your own documents: made, verified, judged, ranked, curated, audited."""

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from judgeharness_integrations.benchmark.conditions import Conditions, Drawing, draw_conditions
    from judgeharness_integrations.benchmark.documents.document import Document
    from judgeharness_integrations.benchmark.documents.reading import read_documents
    from judgeharness_integrations.benchmark.folder import BenchmarkFolder
    from judgeharness_integrations.benchmark.judging.cases import pair_case
    from judgeharness_integrations.benchmark.judging.judges import ConversationJudge, PairJudge
    from judgeharness_integrations.benchmark.pair import Pair
    from judgeharness_integrations.benchmark.settings import Settings
    from judgeharness_integrations.benchmark.taxonomy.loading import load_taxonomy
    from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy

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
        "Conditions": "conditions",
        "ConversationJudge": "judging.judges",
        "Document": "documents.document",
        "Drawing": "conditions",
        "Pair": "pair",
        "PairJudge": "judging.judges",
        "Settings": "settings",
        "Taxonomy": "taxonomy.taxonomy",
        "draw_conditions": "conditions",
        "load_taxonomy": "taxonomy.loading",
        "pair_case": "judging.cases",
        "read_documents": "documents.reading",
    },
)
