"""A chat model that plays a judge, so that the suite runs without a key: it likes what it reads first."""

import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

ANSWER = re.compile(
    r"\[The Start of Assistant [AB]'s Answer\]\n(.*?)\n\[The End of Assistant [AB]'s Answer\]", re.DOTALL
)


class HouseModel(BaseChatModel):
    """Prefers an answer that is more than twice as long, else the first one."""

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        del stop, run_manager
        first, second = ANSWER.findall(str(messages[-1].content))
        preferred = "B" if len(second) > 2 * len(first) else "A"
        text = f"Assistant {preferred} gives the more helpful answer. [[{preferred}]]"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    @property
    def _llm_type(self) -> str:
        return "house"
