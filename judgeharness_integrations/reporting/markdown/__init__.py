"""Reports as GitHub's Markdown, for summaries of jobs and comments on pull requests."""

from judgeharness_integrations.reporting.markdown.page import markdown_report

__all__ = ["markdown_report"]
