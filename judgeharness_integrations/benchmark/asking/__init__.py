"""Asking models for the parts of a benchmark: every answer is kept, and none is paid for twice."""
