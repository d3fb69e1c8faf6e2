"""What a chat model answered inside somebody else's chain."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from judgeharness_integrations.modelanswer import EmptyAnswerError, ModelAnswer, result_answer

__all__ = ["Capture"]


class Capture(BaseCallbackHandler):
    """Keeps what the model answered last; `empty` is a reply of its server that held no answer."""

    run_inline = True  # reads in the calling task, before the chain goes on

    def __init__(self) -> None:
        """Nothing captured yet."""
        self.answer: ModelAnswer | None = None
        self.empty: EmptyAnswerError | None = None

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Keep the answer."""
        try:
            self.answer, self.empty = result_answer(response), None
        except EmptyAnswerError as error:
            self.empty = error
