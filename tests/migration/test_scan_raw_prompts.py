"""Judges without a framework: raw prompts that begin as a judge's, loops over texts, repeats until an answer comes."""

from __future__ import annotations

from textwrap import indent

import pytest
from scan_bench import found_in, sites_of, source_of

from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.questions import opens_as_judge
from judgeharness_integrations.migration.rules import RULES


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a judge. Which is better?",
        "You are an impartial judge: {}",
        "you are a strict but fair grader of essays.",
        "Act as a grader.",
        "Please act as an impartial judge and evaluate the quality of the responses",
        "You will act as an expert evaluator.",
        "System: You are the referee.",
        "You are a helpful assistant that evaluates answers.",
        "You are an expert tasked with grading homework.",
        "Your task is to evaluate the answer.",
        "Hello.\nYou are a judge.",
    ],
)
def test_prompts_that_make_a_judge_are_known_by_their_beginning(prompt: str) -> None:
    assert opens_as_judge(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a helpful assistant.",
        "You are a lawyer. Never sound as if you are a judge.",
        "The evaluator said so.",
        "Act as a pirate.",
        "Your task is to translate the answer.",
    ],
)
def test_other_prompts_do_not(prompt: str) -> None:
    assert not opens_as_judge(prompt)


LOOPS = """
import httpx, requests
from openai import OpenAI
from somewhere import llm, session
client = OpenAI()
P = "You are a judge. Say what you think of it.\\n"
found = []
for text in answers:
{ask}
    found.append(reply)
print(found)
"""


@pytest.mark.parametrize(
    "ask",
    [
        "reply = client.responses.create(model='m', input=f'You are a judge. {text}').output_text",
        "reply = llm('You are an impartial judge. Which is better?' + text)",
        "reply = ask_gpt(P + text)",
        "reply = session.query(prompt=P.strip() + text)",
        "reply = requests.post(URL, json={'messages': [{'role': 'system', 'content': P}, text]}).json()",
        "payload = {'model': 'm', 'prompt': P + text}\nreply = httpx.post(URL, json=payload).text",
    ],
)
def test_a_loop_over_raw_strings_is_a_judge(ask: str) -> None:
    (site,) = sites_of(LOOPS.format(ask=indent(ask, "    ")))
    assert (site.kind, site.samples) == ("invoke", 1)


@pytest.mark.parametrize(
    "line",
    [
        "reply = P.format(text)",
        "reply = make_model('You are a judge.')",
        "reply = SystemMessage(P + text)",
        "reply = requests.post(URL, json={'comment': P})",
        "reply = requests.post(URL, data=P)",
        "print(P)",
        "reply = llm('You are a pirate.' + text)",
    ],
)
def test_a_prompt_that_nobody_is_asked_with_is_none(line: str) -> None:
    assert sites_of(LOOPS.format(ask=f"    {line}")) == ()


def test_a_function_of_this_file_is_the_question_where_it_asks() -> None:
    text = """
        from openai import OpenAI
        def ask(prompt):
            return OpenAI().responses.create(input=prompt).output_text
        def judge(x):
            return ask("You are a judge. " + x)
        """
    assert [site.line for site in sites_of(text)] == [5]


UNTIL = """
import json
from openai import OpenAI
client = OpenAI()
def ask(x):
    return client.responses.create(model="m", input="Grade the answer, PASS or FAIL, in JSON: " + x).output_text
def judge(x):
    reply = ""
{lines}
"""


@pytest.mark.parametrize(
    "lines",
    [
        "while 'PASS' not in reply:\n    reply = ask(x)\nreturn reply",
        "for _ in range(5):\n    reply = ask(x)\n    if 'PASS' in reply:\n        return True\nreturn False",
        "while not reply.startswith('PASS'):\n    reply = ask(x)\nreturn reply",
        "while reply != 'PASS':\n    reply = ask(x)\nreturn reply",
        "return any('PASS' in ask(x) for _ in range(5))",
        "return any(True for _ in range(5) if ask(x) == 'PASS')",
    ],
)
def test_a_repeat_until_a_wanted_verdict_is_found_and_said_to_bias(lines: str) -> None:
    inspection = Inspection(source_of(UNTIL.format(lines=indent(lines, "    "))))
    assert len(inspection.sites) == 1
    (message, *_) = {one.message for one in RULES["JH005"].findings(inspection)}
    assert "repeating until a wanted verdict comes biases the result" in message


@pytest.mark.parametrize(
    "lines",
    [
        "while True:\n    try:\n        return json.loads(ask(x))\n    except ValueError:\n        continue",
        "while 'PASS' not in reply and 'FAIL' not in reply:\n    reply = ask(x)\nreturn reply",
        "while '{' not in reply:\n    reply = ask(x)\nreturn reply",
        "return any('PASS' in ask(one) for one in x)",
    ],
)
def test_a_repeat_until_there_is_an_answer_is_a_judge_and_no_bias(lines: str) -> None:
    text = UNTIL.format(lines=indent(lines, "    "))
    assert len(sites_of(text)) == 1
    assert found_in(text, "JH005") == []


RETRIED = """
from tenacity import retry, retry_if_result, stop_after_attempt
import backoff
from openai import OpenAI
def bad(verdict):
    return verdict == "FAIL"
@{decorator}
def judge(x):
    return OpenAI().responses.create(model="m", input="Grade the answer: " + x).output_text
"""


@pytest.mark.parametrize(
    ("decorator", "lines"),
    [
        ("retry(retry=retry_if_result(lambda verdict: verdict != 'PASS'))", [6]),
        ("retry(retry=retry_if_result(bad), stop=stop_after_attempt(3))", [6]),
        ("backoff.on_predicate(backoff.expo, lambda score: score < 4)", [6]),
        ("retry(retry=retry_if_result(lambda verdict: verdict is None))", []),
        ("retry(retry=retry_if_result(lambda verdict: verdict == ''))", []),
        ("retry(retry=retry_if_result(given))", []),
        ("retry(stop=stop_after_attempt(3))", []),
    ],
)
def test_a_decorator_that_asks_again_on_the_verdict_is_found(decorator: str, lines: list[int]) -> None:
    assert found_in(RETRIED.format(decorator=decorator), "JH005") == lines
