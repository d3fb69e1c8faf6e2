"""Two judges that need no key; any other judge goes in their place."""

from judgeharness_integrations import AnswerCase, PairwiseCase


def is_polite(case: AnswerCase) -> dict[str, str]:
    """Take what says please or thank you for polite, however it is set."""
    words = case.output.lower()
    polite = any(word in words for word in ("please", "thank", "welcome"))
    return {"verdict": "PASS" if polite else "FAIL"}


def prefers_what_it_reads_first(case: PairwiseCase) -> str:
    """Take the first answer unless the second is much longer: a judge with position bias."""
    return "B" if len(case.output_b) > 2 * len(case.output) else "A"
