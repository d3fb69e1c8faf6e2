"""A chat model that plays a biased judge, for the examples that run without a key."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda


class LikesBold(BaseChatModel):
    """Passes every answer that has something in bold, and prefers what it reads first."""

    def with_structured_output(self, schema: Any, **_: Any) -> Runnable[Any, Any]:
        """Answer in the form asked for."""
        fields = schema.get("properties", {})

        def answer(messages: Any) -> dict[str, Any]:
            text = str(self.invoke(messages).content)
            verdict = {"score": text == "bold"} if "score" in fields else {"preferred": "A"}
            return {"reasoning": f"It reads {text}."} | verdict

        return RunnableLambda(answer)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        del stop, run_manager
        judged = str(messages[-1].content)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("bold" if "**" in judged else "plain"))])

    @property
    def _llm_type(self) -> str:
        return "likes-bold"
