"""Results and reports as pieces of HTML that a notebook shows: no script, nothing to fetch, the colours around them."""

from judgeharness_integrations.reporting.fragments.results import result_fragment, section_html

__all__ = ["result_fragment", "section_html"]
