"""Invocations as cases, the seams into ADK, and the adapter without ADK."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from types import ModuleType
from typing import Any

import pytest
from google.adk.evaluation import llm_as_judge_utils
from google.adk.evaluation.conversation_scenarios import ConversationScenario
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, TokenUsageDetails
from google.genai.types import Content, Part
from support.adk_folder import FINAL_RESPONSE, invocation, judge_options
from support.adk_outcomes import HALLUCINATIONS, MATCH, MULTI_TURN

import judgeharness_adk
from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, invocation_case
from judgeharness_adk.judges import JUDGES
from judgeharness_adk.options import block_of
from judgeharness_adk.outcomes import average_of
from judgeharness_adk.perturbations import PERTURBATIONS
from judgeharness_integrations import AnswerCase
from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.judging.adapters import VersionRange


def said(text: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"text": text}]}


TURN = Invocation.model_validate(
    {
        "invocation_id": "e-1",
        "user_content": {"role": "user", "parts": [{"text": "Ask Ada."}]},
        "final_response": {"role": "model", "parts": [{"text": "Ada says"}, {"text": "hello."}]},
        "intermediate_data": {
            "invocation_events": [
                {"author": "Ada", "content": said("I ask Ada.")},
                {"author": "user", "content": {"role": "user", "parts": [{"text": "Ada?"}]}},
                {"author": "Ada", "content": None},
                {
                    "author": "Ada",
                    "content": {
                        "role": "model",
                        "parts": [{"function_call": {"id": "Ada", "name": "Ada", "args": {"who": ["Ada"], "n": 1}}}],
                    },
                },
            ]
        },
    }
)
CASE = invocation_case([TURN], None, case_id="e-1", names=("Ada", "Bob"))


def test_what_the_agent_said_can_be_changed() -> None:
    changed = CASE.with_texts(str.upper)
    assert CASE.texts() == ("Ada says", "hello.")
    assert changed.texts() == ("ADA SAYS", "HELLO.")
    assert (changed.output, changed.input) == ("ADA SAYS\nHELLO.", "Ask Ada.")
    assert CASE.output == "Ada says\nhello."  # the original is left alone


@pytest.mark.parametrize(("shown", "texts"), [("nothing", ()), ("spoken", ("I ask Ada.", "Ada says", "hello."))])
def test_a_prompt_shows_less_or_more_of_it(shown: Any, texts: tuple[str, ...]) -> None:
    assert replace(CASE, shown=shown).texts() == texts


def test_older_intermediate_data_holds_words_too() -> None:
    turn = Invocation.model_validate(
        {**TURN.model_dump(), "intermediate_data": {"intermediate_responses": [["Ada", [{"text": "Let me see."}]]]}}
    )
    case = replace(invocation_case([turn], None, case_id="e-1"), shown="spoken")
    assert case.texts() == ("Let me see.", "Ada says", "hello.")


def test_names_change_wherever_a_judge_reads_and_ids_stay() -> None:
    changed = CASE.with_all_texts(lambda text: text.replace("Ada", "Bob"))
    dumped = changed.judged.model_dump(exclude_none=True)
    assert "Ada says" not in str(dumped)
    events = dumped["intermediate_data"]["invocation_events"]
    call = events[3]["content"]["parts"][0]["function_call"]
    assert (call["id"], call["name"], call["args"]) == ("Ada", "Ada", {"who": ["Bob"], "n": 1})
    assert events[0]["author"] == "Ada"
    assert (changed.input, changed.output) == ("Ask Bob.", "Bob says\nhello.")
    assert set(CASE.all_texts()) == {"Ask Ada.", "Ada says", "hello.", "I ask Ada.", "Ada?", "Ada"}


def test_what_was_never_set_stays_unset() -> None:
    """ADK leaves unset fields out of its prompts."""
    same = CASE.with_all_texts(lambda text: text)
    assert same.judged.model_dump(exclude_unset=True) == TURN.model_dump(exclude_unset=True)


def test_what_does_not_change_is_not_copied_and_what_was_given_stays_as_it_is() -> None:
    given = invocation("Oslo")
    case = invocation_case([given], None, case_id="e-1")
    before = given.model_dump()
    assert case.with_all_texts(lambda text: f"{text}").conversation[0] is given
    changed = case.with_all_texts(str.upper).conversation[0]
    assert given.model_dump() == before
    assert changed.user_content is not given.user_content
    assert changed.model_fields_set == given.model_fields_set


def test_a_rubric_prompt_is_hashed_once_a_criterion_and_anew_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    kind = JUDGES[FINAL_RESPONSE]
    plain = kind.prompt
    monkeypatch.setattr(kind, "prompt", lambda self, case: made.append("") or plain(self, case))

    def hashed(*rubrics: str) -> str | None:
        options = judge_options("gemini-2.5-flash", rubrics=rubrics)
        metric = EvalMetric(metric_name=FINAL_RESPONSE, threshold=0.5, criterion=BaseCriterion(**options))
        return kind(metric).identity.prompt_hash

    first = hashed("hashed once")
    assert (hashed("hashed once"), len(made)) == (first, 1)
    assert hashed("hashed once", "and another") != first
    assert len(made) == 2


def test_adks_perturbations_need_adks_cases() -> None:
    plain = AnswerCase(case_id="1", output="text")
    assert "needs an ADK invocation, not a AnswerCase" in str(PERTURBATIONS["rubric_order"]().fits(plain))
    assert "two texts side by side" in str(PERTURBATIONS["position_swap"]().fits(plain))


@pytest.mark.parametrize("judge", JUDGES.values(), ids=list(JUDGES))
def test_adks_judges_need_adks_cases(judge: Any) -> None:
    unmade = judge.__new__(judge)
    plain = AnswerCase(case_id="1", output="text")
    assert judge.view(unmade, plain) is plain
    assert judge.fits(unmade, plain)


SEAMS: dict[str, Callable[[Any], object]] = {
    "_additional_args": _seams.ask_anew,
    "_effective_rubrics_list": lambda holder: _seams.settle_rubrics(holder, []),
    "_assemble_dialogue_history": lambda holder: _seams.show_conversation(holder, [invocation("Oslo")]),
    "_auto_rater_prompt_template": _seams.reference_first,
    "_registry": lambda holder: _seams.evaluator_class(holder, "m"),
    "_expected_invocations_required": _seams.needs_expected,
    "evaluate_invocations": lambda holder: _seams.asks_itself(type(holder)),
    "_get_steps_to_evaluate": lambda holder: _seams.steps_of(holder, invocation("Oslo")),
    "_format_llm_prompt": lambda holder: _seams.user_turn_prompt(
        holder, [invocation("Oslo")], ConversationScenario(starting_prompt="-", conversation_plan="-")
    ),
}


@pytest.mark.parametrize("name", SEAMS)
def test_a_version_without_a_seam_is_told_which_ones_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class LiteLlm:  # by this name a model of LiteLLM is known
        pass

    monkeypatch.setitem(sys.modules, "litellm", ModuleType("litellm"))
    monkeypatch.setattr("litellm.cache", "in memory", raising=False)
    with pytest.raises(UsageError) as caught:
        SEAMS[name](LiteLlm())
    assert str(caught.value) == (
        f"google-adk {version('google-adk')} has no LiteLlm.{name}: install the newest that was tried, "
        "pip install 'google-adk[eval]==2.13.*'."
    )


def test_another_prompt_does_not_allow_a_swap() -> None:
    class Reworded:
        _auto_rater_prompt_template = "{response} and {golden_response}"

    assert not _seams.reference_first(Reworded())


@pytest.mark.parametrize("on_abstain", ["informational", "not_evaluated"])
def test_a_status_that_adk_does_not_know_yet_is_refused(on_abstain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    criterion = BaseCriterion(threshold=0.5, judge_harness={"on_abstain": on_abstain})
    assert block_of(criterion, metric="m").on_abstain == on_abstain
    monkeypatch.setattr(_seams, "knows_informational", lambda: False)
    if on_abstain == "not_evaluated":
        assert block_of(criterion, metric="m").on_abstain == on_abstain
        return
    with pytest.raises(ConfigError) as caught:
        block_of(criterion, metric="m")
    assert str(caught.value) == (
        f"metric 'm': on_abstain 'informational' needs google-adk 2.10 or later, and {version('google-adk')} is "
        "installed: take 'not_evaluated', or a later version."
    )


def test_an_adk_without_fields_for_tokens_is_told_none(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = TokenUsageDetails(input_tokens=1)
    assert average_of([counted, counted]) == counted
    monkeypatch.setattr("judgeharness_adk.outcomes._KIND", None)
    assert average_of([counted]) is None


@pytest.mark.parametrize(("newest", "named"), [("2.13", False), ("2.9", True)])
def test_other_versions_are_named(*, newest: str, named: bool, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    from google.adk.evaluation.metric_evaluator_registry import MetricEvaluatorRegistry

    tested = {"google-adk": VersionRange(lowest="2.8", newest=newest)}
    monkeypatch.setattr("judgeharness_adk._seams.TESTED", tested)
    judgeharness_adk.register(MetricEvaluatorRegistry())
    sentence = f"google-adk {version('google-adk')} is newer than the versions tried here (2.8 to 2.9)"
    assert (sentence in caplog.messages) == named


@pytest.mark.slow
def test_without_google_adk_the_package_imports_and_says_what_to_install() -> None:
    program = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "google.adk" or name.startswith("google.adk."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
import judgeharness_adk
from judgeharness_adk.adapter import ADAPTER
from judgeharness_integrations._errors import NotInstalledError
for name in ("register", "hallucinations_v1"):
    try:
        getattr(judgeharness_adk, name)
    except NotInstalledError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    sentence = "adk (google.adk) is not installed: pip install '.[adk]' in the source folder of judgeharness"
    assert done.stdout.splitlines() == [sentence] * 2, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "part"),
    [
        ("sys.modules['google.adk.evaluation.llm_as_judge'] = None", "evaluation.llm_as_judge"),
        (
            "from google.adk.evaluation import eval_rubrics; del eval_rubrics.RubricScore",
            "evaluation.eval_rubrics.RubricScore",
        ),
    ],
)
@pytest.mark.parametrize("used", ["judgeharness_adk.register", "judgeharness_adk.adapter.ADAPTER.build_judge(None)"])
def test_an_adk_that_moved_what_is_imported_is_told_which_versions_work(missing: str, part: str, used: str) -> None:
    program = f"""
import sys
{missing}
import judgeharness_adk.adapter
from judgeharness_integrations._errors import UsageError
try:
    {used}
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert done.stdout == (
        f"google-adk {version('google-adk')} has no google.adk.{part}: install the newest that was tried, "
        "pip install 'google-adk[eval]==2.13.*'.\n"
    ), done.stderr


@pytest.mark.parametrize("shown", [True, False])
def test_people_are_shown_thoughts_where_the_judge_is(shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    turn = TURN.model_copy(deep=True)
    assert turn.final_response is not None
    assert turn.final_response.parts is not None
    turn.final_response.parts.insert(0, Part(text="I ponder.", thought=True))
    assert llm_as_judge_utils.get_text_from_content(turn.final_response) == "I ponder.\nAda says\nhello."
    if not shown:
        monkeypatch.setattr(llm_as_judge_utils, "get_text_from_content", _without_thoughts)
    case = invocation_case([turn], turn, case_id="e-1")
    said = ("I ponder.", "Ada says", "hello.") if shown else ("Ada says", "hello.")
    assert case.texts() == said
    assert case.output == case.reference == "\n".join(said)


def _without_thoughts(content: Content) -> str:
    """Read as an ADK that hides thoughts from judges would."""
    return "".join(part.text or "" for part in content.parts or () if not part.thought)


@pytest.mark.parametrize("metric", [FINAL_RESPONSE, MATCH, MULTI_TURN, HALLUCINATIONS])
def test_people_are_shown_of_a_response_what_its_judge_is(metric: str) -> None:
    turn = TURN.model_copy(deep=True)
    assert turn.final_response is not None
    turn.final_response.parts = [Part(text="I ponder.", thought=True), Part(text="Ada says hello.")]
    rubrics = None if metric in (MATCH, HALLUCINATIONS) else ("polite",)
    criterion = BaseCriterion.model_validate(judge_options(_seams.STAND_IN, rubrics=rubrics))
    judge = JUDGES[metric](EvalMetric(metric_name=metric, criterion=criterion))
    seen: list[str] = []

    async def ask(prompt: str) -> Exception:
        seen.append(prompt)
        return RuntimeError("nobody is asked")

    cases = asyncio.run(judge.cases(invocation_case([turn], turn, case_id="e-1"), ask))
    shown = [one for one in cases if isinstance(one, InvocationCase)]
    prompts = seen or [judge.prompt(one) for one in shown]
    people = invocation_case([turn], turn, case_id="e-1").output or ""
    assert ["I ponder." in prompt for prompt in prompts] == ["I ponder." in people]
