"""One threshold of a certificate, and what its test found."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Step"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One threshold: decisions at least as sure are accepted.

    `labelled` accepted decisions have a label, in `clusters` clusters, and `wrong` of them do not agree with it.
    `covered` of all cases, labelled or not, are accepted. `p` is of the test that they are wrong more often than
    allowed; None where it was not tested: too few are accepted, or a test before it failed.
    """

    threshold: float
    labelled: int
    clusters: int
    wrong: int
    covered: int
    p: float | None
