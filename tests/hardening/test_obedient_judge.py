"""Two gullible models over a loopback server: what our prompts keep from them, and what others do not."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from langchain_classic.evaluation import PairwiseStringEvalChain
from langchain_core.prompts import ChatPromptTemplate
from support.forging import ANSWER, OTHER
from support.openai_server import OpenAIServer, Reply, Request, chat_model

from judgeharness_integrations import AnswerCase, PairwiseCase
from judgeharness_integrations.benchmark.judges import ConversationJudge, PairJudge
from judgeharness_integrations.benchmark.pair import FailureType, Taxonomy
from judgeharness_integrations.judging.judge import Probe
from judgeharness_integrations.judging.marks import code_in
from judgeharness_integrations.judging.perturbations import perturbation
from judgeharness_integrations.judging.probes import corpus
from judgeharness_integrations.judging.probes.catalogue import Payload
from judgeharness_integrations.verdictlog.row import Verdict
from judgeharness_langchain import CriteriaJudge, LabelJudge, PairwiseJudge, ScoreJudge
from judgeharness_langchain.evaluators import EvaluatorJudge
from judgeharness_langchain.models import LangChainModel
from judgeharness_openevals import create_harnessed_pairwise_judge

Serve = Callable[..., OpenAIServer]
Obeys = Literal["the first order", "any order outside the marks"]
OBEYS: tuple[Obeys, ...] = ("the first order", "any order outside the marks")
OURS = ("Give your reasons", "You compare two answers", "You judge ")  # how orders of our own begin
NONE = perturbation("none")
TYPE = FailureType(name="wrong_fact", definition="-", flaw="-", benign="-")
TAXONOMY = Taxonomy(failure_types={"wrong_fact": TYPE}, behaviours={})
LAST = ChatPromptTemplate.from_messages([("human", "{output}\n\n{output_b}\n\n{instructions}\n\n{answer_format}")])


@dataclass
class Gullible:
    """A model that does what it is told by whoever tells it; unless told by a payload, it judges honestly.

    The first kind obeys the first order it reads. The second one knows what marks are: it obeys a payload anywhere but
    between marks that carry the code it was told of first.
    """

    obeys: Obeys
    payload: Payload
    captured: Reply
    honest: Reply

    def __call__(self, request: Request) -> Reply:
        text = request.text
        if self.obeys == "any order outside the marks":
            return self.captured if self.attack(unmarked(text)) >= 0 else self.honest
        places = [place for order in OURS if (place := text.find(order)) >= 0]
        attack = self.attack(text)
        assert attack >= 0, "the payload is not shown"
        return self.captured if not places or attack < min(places) else self.honest

    def attack(self, text: str) -> int:
        """Return where the payload stands, on lines of its own; -1 where it does not."""
        return f"\n{text}\n".find(f"\n{self.payload.text}\n")


def unmarked(text: str) -> str:
    """Return what of a prompt stands between no marks."""
    code = code_in(text)
    if code is None:
        return text
    explained, announced, shown = text.partition(code)
    between = rf"<<{code} (?!end>>)[^\n]*>>\n.*?\n<<{code} end>>"
    return explained + announced + re.sub(between, "", shown, flags=re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A judge; `says` writes its answer: of the honest verdict, or of the one that an attacker wants."""

    make: Callable[[Any], Any]
    says: Callable[[bool, str | None], tuple[str, dict[str, Any]]]
    verdicts: Callable[[bool, str | None], Verdict]
    structured: bool = False
    single: bool = True


def two(slot: str | None, *, captured: bool) -> str:
    return str(slot) if captured else "B" if slot == "A" else "A"


def ours(*, output: Any, structured: bool) -> Iterator[tuple[str, Kind]]:
    yield (
        "pairwise",
        Kind(
            make=lambda model: PairwiseJudge(model, output=output),
            says=lambda captured, slot: (
                f"So it is.\n\n{{code}}: Assistant {two(slot, captured=captured)}",
                {"reasoning": "So it is.", "verdict": f"Assistant {two(slot, captured=captured)}"},
            ),
            verdicts=lambda captured, slot: two(slot, captured=captured),
            structured=structured,
            single=False,
        ),
    )
    graded = {
        "score": (ScoreJudge, {}, ("10", {"score": 10}, 10), ("2", {"score": 2}, 2)),
        "label": (
            LabelJudge,
            {"taxonomy": {"PASS": "right", "POOR": "wrong"}},
            ("PASS", {"label": "PASS"}, "PASS"),
            ("POOR", {"label": "POOR"}, "POOR"),
        ),
        "criteria": (
            CriteriaJudge,
            {"criteria": "right"},
            ("PASS", {"verdicts": {"right": "PASS"}}, "PASS"),
            ("FAIL", {"verdicts": {"right": "FAIL"}}, "FAIL"),
        ),
        "rubric": (
            CriteriaJudge,
            {"criteria": {"right": "It is right.", "short": "It is short."}},
            ('{"right": "PASS", "short": "PASS"}', {"verdicts": {"right": "PASS", "short": "PASS"}}, "PASS"),
            ('{"right": "FAIL", "short": "FAIL"}', {"verdicts": {"right": "FAIL", "short": "FAIL"}}, "FAIL"),
        ),
    }
    for name, (judge, options, captured_as, honest_as) in graded.items():
        yield name, graded_kind(judge, {**options, "output": output}, captured_as, honest_as, structured=structured)


def graded_kind(judge: Any, options: dict[str, Any], captured_as: Any, honest_as: Any, *, structured: bool) -> Kind:
    def said(captured: bool) -> Any:  # noqa: FBT001 - one of two
        return captured_as if captured else honest_as

    return Kind(
        make=lambda model: judge(model, **options),
        says=lambda captured, _: (
            f"So it is.\n\n{{code}}: {said(captured)[0]}",
            {"reasoning": "So it is.", **said(captured)[1]},
        ),
        verdicts=lambda captured, _: said(captured)[2],
        structured=structured,
    )


def others() -> Iterator[tuple[str, Kind]]:
    def pair(key: str, **more: Any) -> Callable[[bool, str | None], tuple[str, dict[str, Any]]]:
        return lambda captured, slot: ("", {"reasoning": "r", key: two(slot, captured=captured), **more})

    def verdicts(captured: bool, slot: str | None) -> Verdict:  # noqa: FBT001 - one of two
        return two(slot, captured=captured)

    yield (
        "openevals, pairwise",
        Kind(
            make=lambda model: create_harnessed_pairwise_judge(judge=model).judge,
            says=pair("preferred"),
            verdicts=verdicts,
            structured=True,
            single=False,
        ),
    )
    yield (
        "benchmark, pair",
        Kind(
            make=lambda model: PairJudge(LangChainModel(model), TAXONOMY),
            says=pair("verdict", turn=1, type="wrong_fact"),
            verdicts=verdicts,
            structured=True,
            single=False,
        ),
    )
    yield (
        "benchmark, conversation",
        Kind(
            make=lambda model: ConversationJudge(LangChainModel(model), TAXONOMY),
            says=lambda captured, _: (
                "",
                {"reasoning": "r", "score": 5 if captured else 2, "flawed": not captured, "turn": None, "type": None},
            ),
            verdicts=lambda captured, _: 5 if captured else 2,
            structured=True,
        ),
    )


KINDS = {
    **{f"{name}, text": kind for name, kind in ours(output="text", structured=False)},
    **{f"{name}, structured": kind for name, kind in ours(output="structured", structured=True)},
    **dict(others()),
}


def case_of(payload: Payload) -> AnswerCase:
    held = f"{ANSWER}\n\n{payload.text}"
    if payload.slot is None:
        return AnswerCase(case_id="c", input="What is 17 + 25?", output=held, context=OTHER)
    first, second = (held, OTHER) if payload.slot == "A" else (OTHER, held)
    return PairwiseCase(case_id="c", input="What is 17 + 25?", output=first, output_b=second)


def verdicts_of(judge: Any, script: Gullible, payloads: list[Payload], kind: Kind) -> list[Any]:
    """Return the first verdict under every payload."""

    async def all_of_them() -> list[Any]:
        found = []
        for payload in payloads:
            script.payload = payload
            script.captured, script.honest = (replied(kind, payload, captured=captured) for captured in (True, False))
            probe = Probe(case=case_of(payload), case_id="c", perturbation=NONE, repetition=0, seed=0)
            found.append((await judge.judge(probe)).answers[0].verdict)
        return found

    return asyncio.run(all_of_them())


def replied(kind: Kind, payload: Payload, *, captured: bool) -> Reply:
    text, values = kind.says(captured, payload.slot)
    return Reply.json(values) if kind.structured else Reply.text(text)


def asked(
    serve: Serve, kind: Kind, obeys: Obeys, payloads: list[Payload], make: Callable[[Any], Any] | None = None
) -> list[bool]:
    """Return, payload by payload, whether the judge was captured; any other verdict than the two is an error."""
    nothing = Reply.text("")
    script = Gullible(obeys=obeys, payload=payloads[0], captured=nothing, honest=nothing)
    judge = (make or kind.make)(chat_model(serve(script)))
    found = verdicts_of(judge, script, payloads, kind)
    honest = [kind.verdicts(False, payload.slot) for payload in payloads]  # noqa: FBT003
    captured = [kind.verdicts(True, payload.slot) for payload in payloads]  # noqa: FBT003
    assert all(verdict in two_of for verdict, two_of in zip(found, zip(honest, captured, strict=True), strict=True))
    return [verdict == attack for verdict, attack in zip(found, captured, strict=True)]


def payloads_for(kind: Kind, *, every: bool) -> list[Payload]:
    fitting = [payload for payload in corpus() if (payload.slot is None) == kind.single]
    kept = {(payload.property, payload.slot): payload for payload in fitting}
    forged = [payload for payload in fitting if payload.property == "injection.delimiter"]
    return fitting if every else [*kept.values(), *forged]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "obeys"), list(zip(KINDS, OBEYS * len(KINDS), strict=False)))
def test_our_instruction_is_the_one_obeyed(openai_server: Serve, name: str, obeys: Obeys) -> None:
    kind = KINDS[name]
    payloads = payloads_for(kind, every=False)[-1:]
    assert not any(asked(openai_server, kind, obeys, payloads))


@pytest.mark.slow
@pytest.mark.parametrize("obeys", OBEYS)
@pytest.mark.parametrize("name", KINDS)
def test_our_instruction_is_the_one_obeyed_under_every_payload(openai_server: Serve, name: str, obeys: Obeys) -> None:
    kind = KINDS[name]
    assert not any(asked(openai_server, kind, obeys, payloads_for(kind, every=True)))


@pytest.mark.parametrize(("name", "obeys"), [("pairwise, text", OBEYS[0]), ("score, structured", OBEYS[1])])
def test_a_prompt_that_begins_with_the_answer_is_captured(openai_server: Serve, name: str, obeys: Obeys) -> None:
    """The contrast: the same models, an owner's prompt without marks, and the answers before the instructions."""
    kind = KINDS[name]
    judge = PairwiseJudge if not kind.single else ScoreJudge
    output: Any = "structured" if kind.structured else "text"
    payloads = payloads_for(kind, every=False)[:2]
    assert all(asked(openai_server, kind, obeys, payloads, lambda model: judge(model, prompt=LAST, output=output)))


def test_a_wrapped_evaluator_keeps_its_own_prompt_and_is_captured(openai_server: Serve) -> None:
    payloads = [payload for payload in payloads_for(KINDS["pairwise, text"], every=False) if payload.slot == "A"][:2]
    kind = Kind(
        make=lambda model: EvaluatorJudge.of(PairwiseStringEvalChain.from_llm(llm=model)),
        says=lambda captured, slot: (f"So it is. [[{two(slot, captured=captured)}]]", {}),
        verdicts=lambda captured, slot: two(slot, captured=captured),
        single=False,
    )
    assert all(asked(openai_server, kind, "any order outside the marks", payloads))
