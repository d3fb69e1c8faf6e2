"""What each rule takes for evidence and what it does not; the corpus has the whole suites."""

from __future__ import annotations

import pytest
from scan_bench import found_in

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.migration.rules import RULES, codes_matching, rule_of

HEAD = """
import re
import json
import random
import statistics
import langchain
import numpy as np
from collections import Counter
from functools import lru_cache
from openai import OpenAI
from openevals import create_llm_as_judge
client = OpenAI()
made = create_llm_as_judge(prompt="p")
def ask(x):
    return client.responses.create(input="Grade the answer good or bad: " + x).output_text
"""
LINES = HEAD.strip().count("\n") + 1


def lines_of(code: str, body: str) -> list[int]:
    """Lines of the body, from 1, on which a rule finds something."""
    return [line - LINES for line in found_in(HEAD.strip() + "\n" + body, code) if line > LINES]


FOLDS = """def fold(x, rows):
    votes = [made(outputs=x)["score"] for _ in range(5)]
    {fold}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "fold",
    [
        "return Counter(votes).most_common(1)[0][0]",
        "return max(set(votes), key=votes.count)",
        "return statistics.mode(votes)",
        "return np.median(votes)",
        "return sum(votes) > 2",
        "return sum(votes) / len(votes)",
        "return votes.count(True) >= 3",
        "return len([v for v in votes if v]) > 2",
        "return np.array(votes).mean() > 0.5",
        "print(len(votes)); return sum(votes) / 5",
    ],
)
def test_repeats_folded_without_their_counts_are_found(fold: str) -> None:
    body = FOLDS.format(fold=fold)
    assert lines_of("JH004", body) == [3]
    assert lines_of("JH003", body) == [3]


@pytest.mark.parametrize(
    "fold",
    [
        "return sum(votes) / 5, votes",
        "return {'mean': np.mean(votes), 'votes': votes}",
        "print(votes); return np.mean(votes)",
        "counts = Counter(votes); self.counts = counts; return counts.most_common(1)",
        "log.info('%s', Counter(votes)); return statistics.mode(votes)",
        "x['votes'] = votes; return statistics.mode(votes)",
        "yield votes; yield statistics.mode(votes)",
    ],
)
def test_counts_that_leave_the_function_are_not_hidden(fold: str) -> None:
    body = FOLDS.format(fold=fold)
    assert lines_of("JH004", body) == []
    assert lines_of("JH003", body) == [3]


@pytest.mark.parametrize("fold", ["return votes", "return votes[0]", "return len(votes)", "return sum(rows) / 3"])
def test_what_is_not_folded_is_not_found(fold: str) -> None:
    body = FOLDS.format(fold=fold)
    assert lines_of("JH003", body) == lines_of("JH004", body) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def rate(rows):\n    return sum(ask(r) == 'good' for r in rows) / len(rows)", [2]),
        (
            "def rate(rows):\n    n = 0\n    for r in rows:\n        if ask(r) == 'good': n += 1\n    return n / 9",
            [5],
        ),
        ("def rate(f):\n    f['ok'] = f.apply(ask)\n    return (f['ok'] == 'good').mean()", [3]),
        ("def rate(rows):\n    return np.mean(list(map(ask, rows)) == 'good')", [2]),
        ("def one(r):\n    return int(ask(r)) / 10", []),
        ("def one(r):\n    return made(outputs=r)['score'] > 0.5", []),
        ("def rate(rows):\n    return sum(ask(r) == r['label'] for r in rows) / len(rows)", []),
        ("def rate(rows, human_votes):\n    return sum(ask(r) == 'good' for r in rows) / len(rows)", []),
        ("def rate(rows):\n    x = rows[0]['annotator']\n    return sum(ask(r) == 'good' for r in rows) / 3", []),
    ],
)
def test_numbers_over_cases_without_labels_in_sight(body: str, expected: list[int]) -> None:
    assert lines_of("JH003", body) == expected
    assert lines_of("JH004", body) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def f(x):\n    v = ask(x)\n    while v == 'bad':\n        v = ask(x)\n    return v", [4]),
        ("def f(x):\n    while True:\n        v = ask(x)\n        if v == 'good':\n            break", [3]),
        ("def f(x):\n    for _ in range(3):\n        if ask(x) == 'good':\n            return True", [3]),
        ("def f(x):\n    if made(outputs=x)['score'] < 1:\n        return made(outputs=x)", [3]),
        ("def f(x):\n    v = ask(x) == 'good'\n    while not v:\n        v = ask(x) == 'good'", [4]),
        ("def f(x, n=3):\n    v = ask(x)\n    if v != 'good' and n:\n        return f(x, n)\n    return v", [4]),
        # not again: another text, another case, no verdict yet, a fixed number, another judge
        ("def f(x):\n    v = ask(x)\n    while v == 'bad':\n        x = better(x)\n        v = ask(x)", []),
        ("def f(xs):\n    for x in xs:\n        if ask(x) == 'bad':\n            return x", []),
        ("def f(x):\n    v = None\n    while v is None:\n        v = parse(ask(x))", []),
        (
            "def f(x):\n    while True:\n        v = ask(x)\n        if v in ('good', 'bad'):\n            return v",
            [],
        ),
        ("def f(x):\n    for _ in range(3):\n        print(ask(x))", []),
        ("def f(x):\n    if ask(x) == 'bad':\n        return made(outputs=x)", []),
        ("def f(x):\n    if ask(x) == 'bad':\n        return ask(fixed(x))", []),
        ("def f(x):\n    if ask(x) == 'bad':\n        return f(x[1:])", []),
        ("def f(x):\n    v = ask(x)\n    if v == 'bad':\n        return v\n    return ask(x)", []),
        (
            "def p(t):\n    if t: return t\n    return None\ndef f(x):\n    v = ''\n    while not v: v = p(ask(x))",
            [],
        ),
    ],
)
def test_a_judge_asked_again_because_of_what_it_said(body: str, expected: list[int]) -> None:
    assert lines_of("JH005", body) == expected


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("read", "found"),
    [
        ("'good' in text", True),
        ("'bad' not in text.lower().strip()", True),
        ("text.startswith('good')", True),
        ("re.search('good|bad', text).group()", True),
        ("re.match(r'(good|bad)', text)", True),
        ("re.findall('good|bad', text)[0]", True),
        ("text.split()[0] == 'good'", True),
        ("GOOD.search(text)", True),
        ("str(text or '')[0:4] == 'good' or 'good' in text", True),
        ("re.search(r'(good|bad)$', text)", False),
        (r"re.search(r'(good|bad)\.?\Z', text)", False),
        ("re.fullmatch('good|bad', text)", False),
        ("re.findall('good|bad', text)[-1]", False),
        ("text.strip() == 'good'", False),
        ("text in ('good', 'bad')", False),
        ("'good' in json.loads(text)", False),
        ("'good' in other", False),
        ("int(text)", False),
        ("END.search(text) or text == 'good'", False),
    ],
)
def test_verdicts_by_first_match_or_any_mention(read: str, found: bool) -> None:  # noqa: FBT001
    body = (
        "GOOD = re.compile('good')\nEND = re.compile('good$')\ndef f(x):\n"
        '    text = client.responses.create(input="Grade it: " + x).output_text\n'
        f"    return {read}\n"
    )
    assert lines_of("JH006", body) == ([5] if found else [])


@pytest.mark.parametrize(
    ("cache", "found"),
    [
        ("langchain.globals.set_llm_cache(cache)", True),
        ("langchain.globals.set_llm_cache(None)", False),
        ("langchain.llm_cache = cache", True),
        ("langchain.llm_cache = None", False),
        ("litellm.enable_cache()", True),
        ("x = 1", False),
    ],
)
def test_caches_over_repeats(cache: str, found: bool) -> None:  # noqa: FBT001
    repeats = "def f(x):\n    return [made(outputs=x) for _ in range(3)]\n"
    once = "def f(x):\n    return made(outputs=x)\n"
    assert bool(found_in(f"{HEAD.strip()}\n{cache}\n{repeats}", "JH007")) is found
    assert found_in(f"{HEAD.strip()}\n{cache}\n{once}", "JH007") == []


def test_memoised_functions_and_cached_models_are_caches_too() -> None:
    memo = "@lru_cache\ndef g(x):\n    return made(outputs=x)\ndef f(x):\n    return [g(x) for _ in range(3)]\n"
    assert found_in(f"{HEAD.strip()}\n{memo}", "JH007")
    for option, found in (("cache=True", True), ("cache=False", False), ("cache=None", False)):
        model = (
            f"m = create_llm_as_judge(prompt='p', judge=ChatOpenAI({option}))\n"
            "def f(x):\n    return [m(outputs=x) for _ in range(3)]\n"
        )
        assert bool(lines_of("JH007", model)) is found


@pytest.mark.parametrize(
    ("temperature", "found"),
    [("0", True), ("0.0", True), ("T", True), ("1.0", False), ("unknown", False), ("False", False)],
)
def test_repeats_at_temperature_zero(temperature: str, found: bool) -> None:  # noqa: FBT001
    body = (
        f"T = 0\nm = create_llm_as_judge(prompt='p', judge=ChatOpenAI(temperature={temperature}))\n"
        "def f(x):\n    return [m(outputs=x) for _ in range(3)]\n"
    )
    assert lines_of("JH008", body) == ([2] if found else [])


def test_two_orders_at_temperature_zero_are_two_questions() -> None:
    body = (
        "m = create_llm_as_judge(prompt='p', judge=ChatOpenAI(temperature=0))\n"
        "def f(a, b):\n    return m(outputs=a, other=b), m(outputs=b, other=a)\n"
    )
    assert lines_of("JH008", body) == []


@pytest.mark.parametrize(
    ("writer", "found"),
    [("'gpt-4o'", True), ("'openai/gpt-4o'", True), ("'gpt-4.1'", False), ("name", False)],
)
def test_the_model_that_wrote_it_judges_it(writer: str, found: bool) -> None:  # noqa: FBT001
    body = (
        "m = create_llm_as_judge(prompt='p', model='openai:gpt-4o')\n"
        "def f(x, name):\n"
        f"    story = client.responses.create(model={writer}, input='Tell ' + x).output_text\n"
        "    return m(outputs=story)\n"
    )
    assert lines_of("JH009", body) == ([1] if found else [])


def test_one_model_for_two_things_is_no_finding_unless_the_text_reaches_the_judge() -> None:
    body = (
        "m = create_llm_as_judge(prompt='p', model='openai:gpt-4o')\n"
        "def f(x):\n"
        "    print(client.responses.create(model='gpt-4o', input='Tell ' + x).output_text)\n"
        "    return m(outputs=x)\n"
    )
    assert lines_of("JH009", body) == []


@pytest.mark.parametrize(
    ("imported", "found"),
    [
        ("from langchain.evaluation import load_evaluator", True),
        ("from langchain.evaluation.qa import QAEvalChain", True),
        ("from langchain import evaluation", True),
        ("from langchain.evaluation import *", True),
        ("import langchain.evaluation as ev", True),
        ("from langchain.smith import RunEvalConfig", True),
        ("from langsmith.evaluation import LangChainStringEvaluator, evaluate", True),
        ("from langsmith.evaluation import StringEvaluator", True),
        ("from langsmith.evaluation import *", False),
        ("from langsmith.evaluation import evaluate", False),
        ("from langchain_classic.evaluation import load_evaluator", False),
        ("from langchain import chat_models", False),
        ("from .evaluation import StringEvaluator", False),
        ("import langchain", False),
    ],
)
def test_imports_of_removed_interfaces(imported: str, found: bool) -> None:  # noqa: FBT001
    assert found_in(f"{imported}\nx = load_evaluator\n", "JH010") == ([1] if found else [])


@pytest.mark.parametrize(
    ("caught", "found"),
    [("ImportError", []), ("(AttributeError, ModuleNotFoundError)", []), ("ValueError", [4]), ("", [4])],
)
def test_what_is_imported_only_where_the_newer_one_is_missing_is_a_fallback(caught: str, found: list[int]) -> None:
    tried = (
        "try:\n    from langchain_classic.evaluation import load_evaluator\n"
        f"except {caught}:\n    from langchain.evaluation import load_evaluator\n"
    )
    assert found_in(f"{tried}x = load_evaluator\n", "JH010") == found


@pytest.mark.parametrize(
    ("ending", "found"),
    [
        ("    try:\n        return int(ask(x))\n    except ValueError:\n        return 0", 5),
        ("    try:\n        v = int(ask(x))\n    except ValueError:\n        v = 1\n    return v", 5),
        ("    try:\n        return {'score': int(ask(x))}\n    except ValueError:\n        return {'score': 0}", 5),
        ("    m = re.search('a', ask(x))\n    return m.group() if m else 'bad'", 3),
        ("    m = re.search('a', ask(x))\n    return m.group() if m is not None else 'bad'", 3),
        ("    m = re.search('a', ask(x))\n    if not m:\n        return 'bad'\n    return m.group()", 4),
        ("    m = re.search('a', ask(x))\n    if m is None:\n        return False\n    return m.group()", 4),
        ("    try:\n        return int(ask(x))\n    except ValueError:\n        return None", None),
        ("    try:\n        return int(ask(x))\n    except ValueError:\n        return -1", None),
        ("    try:\n        return int(ask(x))\n    except ValueError:\n        raise", None),
        ("    try:\n        return int(ask(x))\n    except ValueError:\n        return 'unparsed'", None),
        (
            "    try:\n        return int(ask(x))\n    except ValueError:\n        tries = 1\n        return tries + x",
            None,
        ),
        ("    try:\n        return int(x)\n    except ValueError:\n        return 0", None),
        ("    m = re.search('a', ask(x))\n    return m.group() if m else None", None),
        ("    m = re.search('a', ask(x))\n    return m.group() if x else 'bad'", None),
        ("    m = ask(x)\n    return int(m) if m else 'bad'", None),
    ],
)
def test_failures_that_count_as_verdicts(ending: str, found: int | None) -> None:
    assert lines_of("JH012", f"def f(x):\n{ending}\n") == ([] if found is None else [found])


WARNED = """
PAIR = "Which answer is better? {warning}"
def f(a, b):
    return client.responses.create(input=PAIR.format(a=a, b=b)).output_text == "A"
"""


@pytest.mark.parametrize(
    ("warning", "found"),
    [
        ("Avoid any position biases.", True),
        ("The order in which the responses are shown must not matter.", True),
        ("Do not be swayed by the order of the answers.", True),
        ("Judge regardless of order.", True),
        ("Do not favour long answers.", False),
        ("In order to decide, think.", False),
    ],
)
def test_warnings_of_the_order_without_a_swap(warning: str, found: bool) -> None:  # noqa: FBT001
    text = WARNED.format(warning=warning)
    assert bool(lines_of("JH001", text)) is found
    assert lines_of("JH001", text + "def swapped(a, b):\n    return f(b, a)\n") == []
    assert lines_of("JH001", text + "def both(a, b):\n    return f(a, b), f(b, a)\n") == []


def test_a_pairwise_evaluator_of_langchain_warns_unless_it_has_a_prompt_of_its_own() -> None:
    text = "from langchain_classic.evaluation import load_evaluator\nj = load_evaluator('pairwise_string', llm=m{})\n"
    assert found_in(text.format(""), "JH001") == [2]
    assert found_in(text.format(", prompt=mine"), "JH001") == []


def test_codes_are_found_by_prefix_and_unknown_ones_are_refused() -> None:
    assert codes_matching(["JH00"]) == {f"JH00{number}" for number in range(1, 10)}
    assert codes_matching(["all"]) == frozenset(RULES)
    assert codes_matching(["jh010", "JH012"]) == {"JH010", "JH012"}
    assert rule_of("jh002").name == "single-sample verdict"
    with pytest.raises(UnknownNameError, match="unknown rule 'JH02'"):
        codes_matching(["JH02"])
    with pytest.raises(UnknownNameError, match="did you mean 'JH0"):
        rule_of("JH02")


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_every_rule_explains_itself(rule: object) -> None:
    explanation = getattr(rule, "explanation", "")
    assert 200 < len(explanation) < 900
    assert explanation.endswith(".")
    assert "Found" in explanation
