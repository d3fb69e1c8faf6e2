"""The example's offline models as tests play them: in this process, and behind the loopback OpenAI server."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.judging.chatmodels import Completion, FunctionModel, Prompt
from support.openai_replies import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["EXAMPLE", "JUDGES", "Roles", "generator_with", "offline", "role", "two_documents"]

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "judge_benchmark"
JUDGES = ("judge_strong", "judge_middling", "judge_weak")  # in their planted order


def offline(name: str) -> Any:
    """Return a module of the example."""
    if str(EXAMPLE) not in sys.path:
        sys.path.append(str(EXAMPLE))
    return importlib.import_module(name)


def role(name: str) -> FunctionModel:
    """Return one of the example's models."""
    return FunctionModel(function=getattr(offline("offline_models"), name), name=name)


def generator_with(planted: Callable[[str], str | None]) -> FunctionModel:
    """Return a generator that plants the defect a function of the pair's seed names."""
    models, reading = offline("offline_models"), offline("offline_reading")

    def write(prompt: Prompt) -> Completion | str:
        said = models.written(reading.pieces(prompt.user), prompt.schema["properties"], planted=planted)
        return said if isinstance(said, str) else Completion(text=json.dumps(said), parsed=said)

    return FunctionModel(function=write, name="planting")


def two_documents(folder: Path) -> Path:
    """Write two text documents into a folder of two domains, and return it."""
    for domain, name in (("library", "loan_rules"), ("garden", "handbook")):
        text = (EXAMPLE / "documents_md" / domain / f"{name}.md").read_text(encoding="utf-8")
        place = folder / domain / f"{name}.txt"
        place.parent.mkdir(parents=True)
        place.write_text("\n".join(line for line in text.splitlines() if not line.startswith("#")), encoding="utf-8")
    return folder


class Roles:
    """The script of a loopback server that plays whichever model a request names, and counts what it is asked.

    Args:
        delay: seconds before an answer, by a digest of what is asked.
    """

    def __init__(self, *, delay: Callable[[str], float] = lambda _: 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self.held: Counter[str] = Counter()
        self._delay = delay
        self._step, self._left = "", 0

    def hold(self, step: str, *, after: int) -> None:
        """Answer no request of a step after so many more of them; a step is a property of its answer."""
        self._step, self._left = step, after

    def release(self) -> None:
        """Answer every request from now on."""
        self._step = ""

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        told = json.dumps([request.model, request.system, request.user], ensure_ascii=False)
        digest = hashlib.sha256(told.encode()).hexdigest()
        self.asked[digest] += 1
        properties = _properties(request)
        if self._step in properties:
            self._left -= 1
            if self._left < 0:
                self.held[digest] += 1
                return Reply.timeout(60)
        said = offline("offline_models").said_by(request.model, request.user, properties)
        delay = self._delay(digest)
        return Reply.text(said, delay=delay) if isinstance(said, str) else Reply.json(said, delay=delay)


def _properties(request: Request) -> Mapping[str, Any]:
    form = request.response_format
    if form is not None:
        return form["json_schema"]["schema"]["properties"]
    return request.tools[0]["function"]["parameters"]["properties"]
