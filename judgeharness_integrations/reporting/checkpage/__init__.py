"""A check as one HTML page: cards, the forest plot, words."""

from judgeharness_integrations.reporting.checkpage.rendering import check_page

__all__ = ["check_page"]
