"""One HTML page of a report: self-contained, safe with hostile texts, fast with thousands of cases."""

from .page import html_report

__all__ = ["html_report"]
