"""Gemini's shape: generateContent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from support.provider_wire import Answer, Request, Wire, content_text, new_id

__all__ = ["Gemini"]

_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class Gemini(Wire):
    """`POST /v1beta/models/MODEL:generateContent`. It has no refusal of its own: a filter ends the answer."""

    provider: ClassVar[str] = "gemini"
    path: ClassVar[str] = "/{version:v1beta|v1}/models/{model}:generateContent"

    _WORDS: ClassVar[dict[str, str]] = {
        "ok": "STOP",
        "cut_off": "MAX_TOKENS",
        "context_full": "MAX_TOKENS",
        "blocked": "SAFETY",
        "refused": "PROHIBITED_CONTENT",
    }

    def model(self, body: Mapping[str, Any], path: str) -> str:
        del body
        return path.rpartition("/")[2].removesuffix(":generateContent")

    def turns(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if body.get("systemInstruction"):
            yield "system", content_text(body["systemInstruction"].get("parts"))
        for content in body.get("contents", ()):
            yield content.get("role", "user"), content_text(content.get("parts"))

    def forced_tool(self, body: Mapping[str, Any]) -> str | None:
        calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
        if calling.get("mode") != "ANY":
            return None
        if allowed := calling.get("allowedFunctionNames"):
            return str(allowed[0])
        return str(body["tools"][0]["functionDeclarations"][0]["name"])

    def tier(self, body: Mapping[str, Any]) -> str:
        return str(body.get("serviceTier") or "standard")

    def headers(self, answer: Answer, request: Request) -> dict[str, str]:
        return {"x-gemini-service-tier": answer.tier or self.tier(request.body)}

    def failure(self, status: int, message: str, code: str | None = None) -> dict[str, Any]:
        word = code or _ERRORS.get(status, "INTERNAL")
        return {"error": {"code": status, "message": message, "status": word}}

    def render(self, answer: Answer, request: Request) -> tuple[int, dict[str, Any]]:
        tokens = answer.used(request)
        usage: dict[str, Any] = {
            "promptTokenCount": tokens.input,
            "candidatesTokenCount": tokens.output - tokens.reasoning,
            "totalTokenCount": tokens.input + tokens.output,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens.input}],
            "serviceTier": answer.tier or self.tier(request.body),
        }
        usage |= {"cachedContentTokenCount": tokens.cached} if tokens.cached else {}
        usage |= {"thoughtsTokenCount": tokens.reasoning} if tokens.reasoning else {}
        document: dict[str, Any] = {
            "usageMetadata": usage,
            "modelVersion": answer.model or request.model,
            "responseId": answer.response_id or new_id(""),
        }
        if answer.ended == "prompt_blocked":
            feedback = {"blockReason": answer.ending({"ok": "PROHIBITED_CONTENT"})}
            return 200, {"promptFeedback": feedback, **document}
        if answer.ended == "empty":
            return 200, document
        return 200, {"candidates": [self._candidate(answer, request)], **document}

    def _candidate(self, answer: Answer, request: Request) -> dict[str, Any]:
        parts = list(self._parts(answer, request))
        candidate: dict[str, Any] = {"finishReason": answer.ending(self._WORDS), "index": 0}
        if answer.ended in ("blocked", "refused") and answer.text:
            candidate["finishMessage"] = answer.text
        return {"content": {"parts": parts, "role": "model"} if parts else {"role": "model"}, **candidate}

    def _parts(self, answer: Answer, request: Request) -> Iterator[dict[str, Any]]:
        if answer.thinking is not None:
            yield {"text": answer.thinking, "thought": True}
        if answer.ended in ("blocked", "refused"):  # what was written until then is withheld
            return
        if tool := answer.called(request):
            yield {"functionCall": {"name": tool, "args": answer.parsed_arguments()}}
        elif answer.shown:
            yield {"text": answer.shown}
