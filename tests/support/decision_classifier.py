"""A `BaseDecisionModel` over `POST /v1/decisions`, which as LangChain's own raises where one question is refused."""

from __future__ import annotations

import ssl
from typing import Any

import httpx
from langchain_core.decisions import BaseDecisionModel, ClassifierResponse
from langchain_core.exceptions import ModelRefusalError

__all__ = ["LoopbackClassifier"]

_OK = 200
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reads no certificates, as each client would


class LoopbackClassifier(BaseDecisionModel):
    """Asks the server at `url`; the answers to other questions are lost where one is refused."""

    url: str

    @property
    def _provider(self) -> str:
        return "loopback"

    def _classify(self, state: Any, questions: Any) -> ClassifierResponse:
        with httpx.Client(trust_env=False, verify=_NO_TLS) as client:
            return _read(client.post(f"{self.url}/v1/decisions", json=self._body(state, questions)))

    async def _aclassify(self, state: Any, questions: Any) -> ClassifierResponse:
        async with httpx.AsyncClient(trust_env=False, verify=_NO_TLS) as client:
            return _read(await client.post(f"{self.url}/v1/decisions", json=self._body(state, questions)))

    def _body(self, state: Any, questions: Any) -> dict[str, Any]:
        content = [{"type": "input_text", "text": _json(state)}]
        return {
            "model": self.model,
            "input": [{"role": "user", "content": content}],
            "questions": [_question(name, question) for name, question in questions.items()],
        }


def _json(state: Any) -> str:
    import json

    return json.dumps(state, ensure_ascii=False)


def _question(name: str, question: Any) -> dict[str, Any]:
    told = {"name": name, "instructions": question.instructions}
    if question.type == "noul":
        return {**told, "type": "predicate"}
    if question.type == "score":
        return {**told, "type": "score", "levels": [{"label": level} for level in question.criteria]}
    choices = [
        {"value": value} if description is None else {"value": value, "description": description}
        for value, description in question.criteria.items()
    ]
    return {**told, "type": "choice", "choices": choices}


def _read(reply: httpx.Response) -> ClassifierResponse:
    if reply.status_code != _OK:
        raise httpx.HTTPStatusError(reply.text, request=reply.request, response=reply)
    body = reply.json()
    if any(answer["type"] == "refusal" for answer in body["answers"]):
        raise ModelRefusalError("the model refused a question")
    usage = body["usage"]
    details = usage["input_tokens_details"]
    return ClassifierResponse.model_validate(
        {
            "model": body["model"],
            "answers": {answer["name"]: _answer(answer) for answer in body["answers"]},
            "usage": {
                "input_tokens": usage["input_tokens"],
                "output_tokens": usage["output_tokens"],
                "total_tokens": usage["total_tokens"],
                "input_token_details": {
                    "cache_read": details["cached_tokens"],
                    "cache_creation": details["cache_write_tokens"],
                },
            },
            "request_id": reply.headers["x-request-id"],
        }
    )


def _answer(answer: dict[str, Any]) -> dict[str, Any]:
    if answer["type"] == "predicate":
        return {"type": "noul", "noul": answer["probability"]}
    told = answer["probabilities"]
    shares = {one["value"]: one["probability"] for one in told}
    if answer["type"] == "score":
        return {**answer, "probabilities": shares, "legend": {one["value"]: one["label"] for one in told}}
    return {**answer, "probabilities": shares}
