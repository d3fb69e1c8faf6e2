"""Functions LangSmith's `evaluate` is given: wrapped in its list, or named with the reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from rewriting_bench import rewrite

from judgeharness_integrations.migration.rewriting import Migration, cost_of, migrated
from judgeharness_integrations.migration.scanning import scan

CLIENT = "from openai import OpenAI\nclient = OpenAI(max_retries=0)\n"
ASK = f"{CLIENT}def ask(p):\n    return client.responses.create(input=p)\n"
OBJECT = "class Same:\n    def evaluate_run(self, run, example=None):\n        return ask(run)\n"
BASED = "class Same(RunEvaluator):\n    def __call__(self, run, example=None):\n        return ask(run)\n"
LANGSMITH = "from langsmith import aevaluate, evaluate\n"
OURS = "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langsmith import HarnessRunEvaluator\n"
PLAIN = "def exact(outputs, reference_outputs):\n    return outputs == reference_outputs\n"
SINGLE = 'HarnessRunEvaluator({}, JudgeHarness.single("any"))'


def around(signature: str) -> str:
    return f'{LANGSMITH}{ASK}{PLAIN}{signature}:\n    return ask("Same?")\n'


@pytest.mark.sampled(36)
@pytest.mark.parametrize(
    "signature",
    [
        "def same(run, example)",
        "async def same(run, example)",
        "def same(root_run, its_example)",
        "def same(outputs)",
        "async def same(inputs, outputs, reference_outputs)",
        "def same(outputs, attachments, *, example, strict=True)",
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('evaluate(app, data="d", evaluators=[same, exact])', 'evaluate(app, data="d", evaluators=[{}, exact])'),
        ('evaluate(app, "d", (exact, same))', 'evaluate(app, "d", (exact, {}))'),
        (
            "async def run():\n    await aevaluate(app, evaluators=[same])",
            "async def run():\n    await aevaluate(app, evaluators=[{}])",
        ),
        (
            "ALL = [\n    same,  # why\n]\nevaluate(app, evaluators=ALL)",
            "ALL = [\n    {},  # why\n]\nevaluate(app, evaluators=ALL)",
        ),
        (
            "ALL: list = []\nALL.append(same)\nevaluate(app, evaluators=ALL)",
            "ALL: list = []\nALL.append({})\nevaluate(app, evaluators=ALL)",
        ),
        (
            'ALL = {"same": same}\nevaluate(app, evaluators=list(ALL.values()))',
            'ALL = {{"same": {}}}\nevaluate(app, evaluators=list(ALL.values()))',
        ),
    ],
)
def test_a_function_that_asks_is_wrapped_in_the_list_and_stays_as_it_is(
    signature: str, before: str, after: str
) -> None:
    text = around(signature)
    found = rewrite(f"{text}{before}\n")
    assert found.after == f"{OURS}{text}{after.format(SINGLE.format('same'))}\n"
    assert [(one.action, one.calls_before, one.calls_after) for one in found.changes] == [("wrapped", 1, 1)]
    assert found.by_hand == ()
    measured = rewrite(found.after, "measured")
    assert measured.after == rewrite(f"{text}{before}\n", "measured").after
    assert 'HarnessRunEvaluator(same, JudgeHarness.standard("any", on_unfit="skip", tolerance=0.1))' in measured.after
    assert (cost := cost_of([measured])).all_judges == 1
    assert (cost.judges, cost.before, cost.after) == (1, 1, 6)


def test_a_model_at_temperature_zero_is_asked_once_in_each_variant() -> None:
    text = around("def same(run, example)").replace("create(input=p)", "create(input=p, temperature=0)")
    found = rewrite(f"{text}evaluate(app, evaluators=[same])\n", "measured")
    assert "tolerance=0.1, repetitions=1))" in found.after
    assert found.changes[0].once


def test_imports_stand_beside_that_of_evaluate_and_aliases_are_kept() -> None:
    text = (
        f"{ASK}def same(run, example):\n    return ask(run)\ndef run():\n    from langsmith import evaluate\n\n"
        "    evaluate(app, evaluators=[same])\n"
    )
    after = rewrite(text).after
    assert "    from judgeharness_langsmith import HarnessRunEvaluator\n    from langsmith import evaluate\n" in after
    ours = text.replace("from openai", "from judgeharness_langsmith import HarnessRunEvaluator as H\nfrom openai")
    assert "evaluators=[H(same, JudgeHarness.single" in rewrite(ours).after


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("evaluate(app, evaluators=[lambda run, example: ask(run)])", "a lambda has no name"),
        ("from functools import partial\nevaluate(app, evaluators=[partial(same, x=1)])", "a partial has no name"),
        (
            "from functools import partial\nevaluate(app, evaluators=[partial(keyed, 1)])\ndef keyed(k, a, b): ask(a)",
            "a partial has no name",
        ),
        ("evaluate(('a', 'b'), evaluators=[same])", "it compares two experiments"),
        ("from langsmith import evaluate_comparative as go\ngo(['a', 'b'], [same])", "it compares two experiments"),
        ("def odd(case):\n    return ask(case)\nevaluate(app, evaluators=[odd])", "LangSmith would not call it"),
        ("def odd(runs, example):\n    return ask(runs)\nevaluate(app, evaluators=[odd])", "LangSmith would not call"),
        (f"{OBJECT}evaluate(app, evaluators=[Same()])", "it is a RunEvaluator, not a function"),
        (f"{BASED}evaluate(app, evaluators=[Same()])", "it is a RunEvaluator, not a function"),
        ("ALL = [same]\nevaluate(app, evaluators=ALL)\nprint(ALL[0](1, 2))", "its list is not for evaluate alone"),
        ("ALL: list = [same]\nevaluate(app, evaluators=ALL)\nx = ALL", "its list is not for evaluate alone"),
        (
            "from langsmith import run_evaluator\n@run_evaluator\ndef tone(run, example):\n    return ask(run)",
            "no list of evaluators in the scanned files holds it",
        ),
    ],
)
def test_what_cannot_be_wrapped_is_named_and_the_file_stays(text: str, why: str) -> None:
    found = rewrite(f"{around('def same(run, example)')}{text}\n")
    assert not found.changed
    assert [why in one.why for one in found.by_hand] == [True], found.by_hand


def test_what_asks_no_model_or_is_wrapped_is_left_alone() -> None:
    text = f"{LANGSMITH}{OURS}{ASK}{PLAIN}def same(outputs):\n    return ask(outputs)\n"
    text += f"evaluate(app, evaluators=[exact, {SINGLE.format('same')}])\n"
    found = rewrite(text)
    assert not found.changed
    assert (found.by_hand, found.harnessed_calls) == ((), (1,))
    assert not rewrite(f"{LANGSMITH}{ASK}{PLAIN}evaluate(app, evaluators=[exact, None])\n").by_hand


def test_a_method_and_what_a_function_makes_are_wrapped_as_they_are_written() -> None:
    text = (
        f"{LANGSMITH}{ASK}def made(words):\n    def same(run, example):\n        return ask(words)\n    return same\n"
        "class Suite:\n    def tone(self, outputs):\n        return ask(outputs)\n    def run(self):\n"
        '        evaluate(app, evaluators=[made("a"), self.tone])\n'
    )
    wrapped = [SINGLE.format(one) for one in ('made("a")', "self.tone")]
    assert f"evaluators=[{', '.join(wrapped)}]" in rewrite(text).after


def written(root: Path, **files: str) -> Path:
    for name, text in files.items():
        (root / f"{name}.py").write_text(text, encoding="utf-8")
    return root


def texts(found: Migration) -> dict[str, str]:
    return {one.path.stem: one.rewrite.after for one in found.changed}


METRICS = "from llm import ask\ndef same(outputs):\n    return ask('Same?')\ndef exact(outputs):\n    return 1\n"
GO = f"{LANGSMITH}from metrics import exact, same\nevaluate(app, evaluators=[same, exact])\n"


@pytest.mark.slow
def test_a_function_of_another_file_is_wrapped_where_it_is_given_and_counted_once(tmp_path: Path) -> None:
    root = written(tmp_path, llm=ASK, metrics=METRICS, go=GO)
    found = migrated([root], "single")
    assert texts(found) == {"go": f"{OURS}{GO}".replace("[same,", f"[{SINGLE.format('same')},")}
    assert cost_of(one.rewrite for one in found.files).all_judges == 1
    written(root, **texts(found))
    assert (report := scan([root])).judges == report.harnessed == 1
    again = migrated([root], "single")
    assert (again.changed, cost_of(one.rewrite for one in again.files).already) == ((), 1)
    measured = cost_of(one.rewrite for one in migrated([root], "measured").files)
    assert (measured.judges, measured.before, measured.after, measured.all_judges) == (1, 1, 6, 1)


@pytest.mark.slow
def test_a_list_of_another_file_is_rewritten_there(tmp_path: Path) -> None:
    go = f"{LANGSMITH}from metrics import ALL\nevaluate(app, evaluators=ALL)\n"
    root = written(tmp_path, llm=ASK, metrics=f"{METRICS}ALL = [exact, same]\n", go=go)
    assert list(texts(migrated([root], "single"))) == ["metrics"]
    assert "ALL = [exact, HarnessRunEvaluator(same, " in texts(migrated([root], "single"))["metrics"]


def test_a_helper_of_another_file_is_harnessed_with_its_evaluator_unless_others_ask_it_bare(tmp_path: Path) -> None:
    helper = f"{ASK}def grade(x):\n    return ask('Judge the answer, yes or no: ' + x) == 'yes'\n"
    go = f"{LANGSMITH}from helper import grade\ndef same(outputs):\n    return grade(outputs)\n"
    root = written(tmp_path, helper=helper, go=f"{go}evaluate(app, evaluators=[same])\n")
    found = migrated([root], "single")
    assert list(texts(found)) == ["go"]
    assert [one.rewrite.by_hand for one in found.files] == [()]
    written(root, other="from helper import grade\nprint(grade('x'))\n")
    left = [one for file in migrated([root], "single").files for one in file.rewrite.by_hand]
    assert [(one.kind, one.why) for one in left] == [("invoke", "it is written by hand")]


def test_what_no_file_defines_is_listed_and_the_others_are_wrapped(tmp_path: Path) -> None:
    go = "from elsewhere import brand\n" + GO.replace("[same, exact]", "[same, brand]")
    [one, *_] = migrated([written(tmp_path, llm=ASK, metrics=METRICS, go=go)], "single").files
    assert [(hand.kind, hand.line) for hand in one.rewrite.by_hand] == [("brand", 4)]
    assert one.rewrite.by_hand[0].why == "elsewhere.brand is in none of the scanned files"
    assert "[HarnessRunEvaluator(same, " in one.rewrite.after


LIKED = "from llm import ask\nclass Liked:\n    def {}(self, run, example):\n        return ask(run)\n"
GO_LIKED = f"{LANGSMITH}from metrics import Liked\nevaluate(app, evaluators=[Liked()])\n"


def test_a_run_evaluator_of_another_file_is_listed_once_where_it_is_given(tmp_path: Path) -> None:
    root = written(tmp_path, llm=ASK, metrics=LIKED.format("evaluate_run"), go=GO_LIKED)
    found = migrated([root], "single")
    left = [(file.path.stem, one.why) for file in found.files for one in file.rewrite.by_hand]
    assert left == [("go", "it is a RunEvaluator, not a function")]
    assert cost_of(one.rewrite for one in found.files).by_hand == scan([tmp_path]).judges == 1


def test_an_object_of_another_file_that_is_called_is_wrapped_where_it_is_given(tmp_path: Path) -> None:
    root = written(tmp_path, llm=ASK, metrics=LIKED.format("__call__"), go=GO_LIKED)
    found = migrated([root], "single")
    assert texts(found) == {"go": f"{OURS}{GO_LIKED}".replace("[Liked()]", f"[{SINGLE.format('Liked()')}]")}
    assert cost_of(one.rewrite for one in found.files).by_hand == 0
    written(root, **texts(found))
    assert (report := scan([root])).judges == report.harnessed == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("signature", ["def __call__(self, run, example)", "async def __call__(self, outputs)"])
@pytest.mark.parametrize(("before", "given"), [("", "Same(strict=True)"), ("same = Same()\n", "same")])
def test_an_object_that_is_called_like_a_function_is_wrapped(signature: str, before: str, given: str) -> None:
    text = f'{LANGSMITH}{ASK}class Same:\n    {signature}:\n        return ask("Same?")\n{before}'
    found = rewrite(f"{text}evaluate(app, evaluators=[{given}])\n")
    assert found.after == f"{OURS}{text}evaluate(app, evaluators=[{SINGLE.format(given)}])\n"
    assert not rewrite(found.after).changed


def test_an_object_langsmith_would_not_call_is_listed() -> None:
    text = f"{LANGSMITH}{ASK}class Odd:\n    def __call__(self, case):\n        return ask(case)\n"
    (left,) = rewrite(f"{text}evaluate(app, evaluators=[Odd()])\n").by_hand
    assert left.why.startswith("LangSmith would not call it")
