"""Results for people: text now, and what every other format is made of."""

from judgeharness_integrations.analysis.document import RESULT_SCHEMA, result_document
from judgeharness_integrations.analysis.result import boundary

from .text import dissent, rationale, text_report

__all__ = ["RESULT_SCHEMA", "boundary", "dissent", "rationale", "result_document", "text_report"]
