"""A provider's prompt cache as it is documented, and a judge whose calls show what it saves.

    with ProviderServer(PrefixCache(said, latency_s=0.02)) as server:
        ...ClientJudge(server)...
    assert server.bill().cached / server.bill().input > 0.6

A prompt is cached from its beginning, from 1,024 tokens on and in steps of 128, and can be read from the moment at
which the first answer to it begins. A word is a token.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from judgeharness_integrations import JudgeIdentity, Judgment, PairwiseCase
from judgeharness_integrations.judging.judge import Answer as JudgeAnswer
from judgeharness_integrations.judging.judge import Probe
from support.loopback_cases import Slot, shown_verdict
from support.openai_replies import Reply, Request
from support.provider_wire import Answer, Tokens

if TYPE_CHECKING:
    from support.provider_server import ProviderServer

__all__ = ["LEAST", "ClientJudge", "PrefixCache", "long_pairs", "said"]

LEAST, _STEP = 1_024, 128


def said(request: Request) -> Answer:
    """What the judge of the loopback cases says of the probe that a request is about."""
    case_id, perturbation, repetition = json.loads(request.body["user"])
    return Answer(text=shown_verdict((case_id, perturbation, repetition)))


class PrefixCache:
    """A script of the loopback server whose answers report the tokens that a prompt cache would have held."""

    def __init__(
        self, answer: Callable[[Request], Answer] = said, *, latency_s: float = 0.02, output: int = 1, flex: bool = True
    ) -> None:
        """Answer after `latency_s` with so many tokens; without `flex` that tier has no room."""
        self._answer, self._latency_s, self._output, self._flex = answer, latency_s, output, flex
        self._readable: dict[bytes, float] = {}

    def __call__(self, request: Request) -> Reply:
        """Answer one request; the server asks for one at a time."""
        if request.body.get("service_tier") == "flex" and not self._flex:
            return Reply.status(429, message="Resource unavailable", error_code="resource_unavailable")
        words = request.text.split()
        now = time.monotonic()
        cached = 0
        for size, prefix in self._prefixes(words):
            if self._readable.setdefault(prefix, now + self._latency_s) <= now:
                cached = size
        answer = self._answer(request)
        tokens = Tokens(input=len(words), output=self._output, cached=cached)
        return Reply.of(Answer(text=answer.text, tokens=tokens, tier=answer.tier), delay=self._latency_s)

    @staticmethod
    def _prefixes(words: list[str]) -> list[tuple[int, bytes]]:
        digest, found, end = hashlib.blake2b(digest_size=16), [], 0
        for size in range(LEAST, len(words) + 1, _STEP):
            digest.update(" ".join(words[end:size]).encode() + b"\n")
            end = size
            found.append((size, digest.digest()))
        return found


def long_pairs(count: int, *, words: int = 1_500) -> list[PairwiseCase]:
    """Return pairs whose prompts have about so many tokens and share nothing but with their own repetitions."""
    half = words // 2
    return [
        PairwiseCase(
            case_id=f"long.{n}",
            input=f"Question {n}?",
            output=" ".join(f"first{n}.{word}" for word in range(half)),
            output_b=" ".join(f"second{n}.{word}" for word in range(half)),
        )
        for n in range(count)
    ]


class ClientJudge:
    """A judge that asks by OpenAI's own client, at a tier."""

    criteria = None

    def __init__(self, server: ProviderServer, tier: str | None = None) -> None:
        """Ask this server; the client belongs to the loop of the first call."""
        self.name, self.identity = "client", JudgeIdentity(name="client", model="gpt-4o-test")
        self._server, self._tier, self._client = server, tier, None

    async def judge(self, probe: Probe) -> Judgment:
        """Ask once."""
        import openai

        if self._client is None:
            self._client = openai.AsyncOpenAI(base_url=f"{self._server.url}/v1", api_key="test", max_retries=0)
        slot: Slot = (probe.case_id, probe.perturbation.name, probe.repetition)
        case = probe.case
        text = f"{case.input}\n{case.output}\n{case.output_b}"
        more: dict[str, Any] = {} if self._tier is None else {"service_tier": self._tier}
        client: Any = self._client
        reply = await client.chat.completions.create(
            model="gpt-4o-test", messages=[{"role": "user", "content": text}], user=json.dumps(slot), **more
        )
        used = reply.usage
        return Judgment(
            answers=(JudgeAnswer(verdict=reply.choices[0].message.content),),
            model=reply.model,
            input_tokens=used.prompt_tokens,
            output_tokens=used.completion_tokens,
            cached_input_tokens=used.prompt_tokens_details.cached_tokens,
            service_tier=reply.service_tier,
        )
