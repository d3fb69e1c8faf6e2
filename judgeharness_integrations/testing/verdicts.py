"""What a scripted model says to a judge of this package that asks for text."""

from __future__ import annotations

from judgeharness_integrations.marks import code_in, verdict_line

__all__ = ["verdict_text"]


def verdict_text(prompt: str, verdict: object, *, reasons: str = "So it is.") -> str:
    """Return reasons and, on the last line, a verdict as the prompt asks for it: after the code of the case.

    Args:
        prompt: what the model was told, all messages of it.
        verdict: what stands in place of the verdict: `Assistant A`, 7, `PASS`, a JSON text.
        reasons: what comes before.

    """
    code = code_in(prompt)
    return f"{reasons}\n\n{verdict if code is None else verdict_line(code, verdict)}"
