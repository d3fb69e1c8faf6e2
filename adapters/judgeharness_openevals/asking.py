"""One call of a judge: outside the test case, with cache entries of its own, and what its model said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.caches import BaseCache

from judgeharness_integrations.judging import Answer, Judgment, Probe, call_maybe_async
from judgeharness_openevals._seams import marked, outside_test_case
from judgeharness_openevals.caching import UNREACHABLE, active_cache, isolated
from judgeharness_openevals.capturing import Capture, ModelAnswer, captured, watched_client
from judgeharness_openevals.failures import unread_answer
from judgeharness_openevals.introspecting import Introspected

__all__ = ["Asked", "Asker"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What came of one call: what the judge returned, or `error` where it could not read what its model said."""

    native: Any = None
    error: Exception | None = None
    said: ModelAnswer | None = None
    capture: Capture
    warning: str | None = None

    @property
    def unusable(self) -> Answer | None:
        """The answer where the model refused, was cut short, or could not be read; None where there is one to read."""
        if self.said is not None and self.said.refusal is not None:
            return Answer(outcome="refused", reasoning=self.said.refusal)
        if self.error is not None:
            note = f"{type(self.error).__name__}: {self.error}"
            return Answer(outcome="unparsed", reasoning=note[:500])
        return Answer(outcome="unparsed") if self.said is not None and self.said.truncated else None

    def judgment(self, answers: tuple[Answer, ...]) -> Judgment:
        """Return the answers with the evidence of the call."""
        said = self.said or ModelAnswer(text="")
        cached = {"cached": "shared" if self.warning else "namespaced"} if said.cached else {}
        named = {"response_id": said.response_id, "warning": self.warning}
        return Judgment(
            answers=answers,
            raw=said.text or said.refusal,
            model=said.model,
            input_tokens=self.capture.tokens("input_tokens"),
            output_tokens=self.capture.tokens("output_tokens"),
            facts={**{name: fact for name, fact in named.items() if fact is not None}, **cached},
        )


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Calls a judge; `details` is what it was made of, where that is known."""

    function: Callable[..., Any]
    details: Introspected | None
    _variants: dict[Any, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)

    async def ask(self, probe: Probe, arguments: Mapping[str, Any], positional: tuple[Any, ...] = ()) -> Asked:
        """Call the judge once.

        Raises:
            Exception: the call failed; an answer that could not be read is in what is returned.

        """
        cache = active_cache(None if self.details is None else self.details.model)
        function = self._for_sample(probe, cache)
        error, native = None, None
        with outside_test_case(), marked(*_marks(probe)), captured() as capture:
            try:
                native = await call_maybe_async(partial(function, *positional, **arguments))
            except Exception as raised:
                said = unread_answer(raised, capture.last)
                if said is None:
                    raise
                error = raised
            else:
                said = capture.last
        shared = (
            function is self.function and said is not None and said.langchain and (said.cached or cache is not None)
        )
        return Asked(native=native, error=error, said=said, capture=capture, warning=UNREACHABLE if shared else None)

    def _for_sample(self, probe: Probe, cache: BaseCache | None) -> Callable[..., Any]:
        """Return the judge with cache entries of its own, or with its OpenAI client watched."""
        details = self.details
        if details is None:
            return self.function
        if (client := details.client) is not None:
            return self._variant(details, "client", lambda: watched_client(client))
        if (model := details.model) is None or cache is None:
            return self.function
        namespace = f"{probe.perturbation.name}#{probe.repetition}"
        return self._variant(details, (id(cache), namespace), lambda: isolated(model, cache, namespace))

    def _variant(self, details: Introspected, key: object, judge: Callable[[], Any]) -> Callable[..., Any]:
        if key not in self._variants:
            self._variants[key] = details.rebuilt(judge())
        return self._variants[key]


def _marks(probe: Probe) -> tuple[list[str], dict[str, Any]]:
    name, repetition = probe.perturbation.name, probe.repetition
    order = "swapped" if probe.perturbation.swaps else "original"
    tags = ["judge-harness", f"perturbation:{name}", f"repetition:{repetition}"]
    return tags, {"perturbation": name, "repetition": repetition, "order": order}
