"""Judges written by hand: words of judging, and a text that becomes a verdict."""

from __future__ import annotations

import pytest
from scan_bench import sites_of

CLIENTS = """
import re, json, litellm, ollama, dspy
from openai import OpenAI
from litellm import completion as complete_with
from langchain_classic.chains import LLMChain
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
P = "Judge whether the answer is correct. Reply yes or no."
client = OpenAI()
chain = LLMChain(llm=ChatOpenAI(), prompt=P)
chat = ChatOpenAI()
agent = Agent("openai:gpt-4o", system_prompt=P)
def judge(x):
    text = {ask}
    return text == "yes"
"""


@pytest.mark.parametrize(
    "ask",
    [
        "client.chat.completions.create(messages=P + x).choices[0].message.content",
        "client.responses.create(input=P + x).output_text",
        "client.messages.create(system=P, messages=[x]).content[0].text",
        "client.models.generate_content(contents=P + x).text",
        "client.beta.chat.completions.parse(messages=[P, x]).verdict",
        "litellm.completion(messages=P + x).choices[0].message.content",
        "complete_with(messages=P + x).choices[0].message.content",
        "ollama.chat(messages=P + x)['message']['content']",
        "chat.invoke(P + x).content",
        "chat.predict(P + x)",
        "chat(P + x).content",
        "chain.run(answer=x)",
        "chain(answer=x)['text']",
        "agent.run_sync(x).output",
        "dspy.Predict('question, answer -> verdict: judge it')(answer=x).verdict",
        "client.converse(system=P, messages=[x])['output']",
    ],
)
def test_models_are_recognised_behind_many_clients(ask: str) -> None:
    (site,) = sites_of(CLIENTS.format(ask=ask))
    assert (site.framework, site.kind, site.line) == ("handwritten", "invoke", 13)


USES = """
import re, json
from openai import OpenAI
YES = re.compile("yes")
TABLE = {{"good": 1, "bad": 0}}
def judge(x):
    reply = OpenAI().responses.create(input="Judge the answer, as JSON with the keys tone and facts: " + x)
    text = reply.output_text
{use}
"""


@pytest.mark.parametrize(
    "use",
    [
        "return text == 'yes'",
        "return 'yes' in text.lower()",
        "return text.strip() in ('yes', 'y')",
        "return int(text)",
        "return float(text.split()[-1])",
        "return re.search('yes', text)",
        "return YES.fullmatch(text)",
        "return text.startswith('yes')",
        "return json.loads(text)['verdict']",
        "return json.loads(text).get('score')",
        "return json.loads(text)['tone']",
        "return TABLE[text]",
        "return TABLE.get(text.strip(), 0)",
        "return reply.score",
        "if text == 'a':\n        return 1\n    return 0",
        "match text:\n        case 'a':\n            return 1",
        "parsed = parse(text)\n    return parsed\ndef parse(answer):\n    return answer == 'yes'",
        "return text\ndef all(xs):\n    return [judge(x) == 'yes' for x in xs]",
        "self.kept = text\n    return self.kept == 'yes'",
        "with opened(text) as read:\n        return read == 'yes'",
        "return [int(one) for one in text.split()]",
    ],
)
def test_a_text_becomes_a_verdict_in_many_ways(use: str) -> None:
    assert [site.line for site in sites_of(USES.format(use=f"    {use}"))] == [6]


@pytest.mark.parametrize(
    "use",
    [
        "return text",
        "print(text)",
        "return text.split('-')",
        "return {'text': text}",
        "return json.loads(text)['content']",
        "return other == 'yes'",
        "return re.sub('yes', text)",
    ],
)
def test_a_text_that_stays_a_text_is_no_verdict(use: str) -> None:
    assert sites_of(USES.format(use=f"    {use}")) == ()


PROMPTS = """
from openai import OpenAI
from app.prompts import GRADER_PROMPT, system, formatter
client = OpenAI()
WORDS = {{"judge": "Grade the answer from 1 to 5."}}
class Schema:
    \"\"\"Whether the answer is better: a verdict.\"\"\"
def grade_prompt(x):
    parts = ["Grade the answer from 1 to 5."]
    parts.append(x)
    return "".join(parts)
class Suite:
    words = "Grade the answer from 1 to 5."
    def __init__(self):
        self.system = "You are a judge."
    def judge(self, x, prompt="Grade {{}}"):
{lines}
        return int(text)
"""


@pytest.mark.parametrize(
    "lines",
    [
        "text = client.responses.create(input=f'Grade this: {x}')",
        "text = client.responses.create(input='Please\\nrate ' + x)",
        "text = client.responses.create(input=WORDS['judge'])",
        "text = client.responses.create(input=grade_prompt(x))",
        "text = client.responses.create(input=self.words.format(x))",
        "text = client.responses.create(system=self.system, input=x)",
        "text = client.responses.create(input=GRADER_PROMPT % x)",
        "text = client.responses.create(input=prompt.format(x))",
        "text = client.responses.parse(input=x, text_format=Schema)",
        "m = []\n        m.append({'content': 'Grade it.'})\n        text = client.responses.create(input=m)",
        "m = 'Grade: '\n        m += x\n        text = client.responses.create(input=m)",
    ],
)
def test_the_words_of_judging_are_found_where_they_come_from(lines: str) -> None:
    assert len(sites_of(PROMPTS.format(lines=f"        {lines}"))) == 1


@pytest.mark.parametrize(
    "lines",
    [
        "text = client.responses.create(input=x)",
        "text = client.responses.create(input='Translate: ' + x)",
        "text = client.responses.create(input=system + x)",
        "text = client.responses.create(input=formatter(x))",
        "text = client.embeddings.create(input='Grade ' + x)",
        "text = client.create(input='Grade ' + x)",
        "text = 'Grade ' + x",
    ],
)
def test_without_words_of_judging_or_a_model_it_is_no_judge(lines: str) -> None:
    assert sites_of(PROMPTS.format(lines=f"        {lines}")) == ()


def test_the_site_is_where_the_question_is_worded_not_where_the_client_is_called() -> None:
    text = """
        from openai import OpenAI
        def call(**kwargs):
            return OpenAI().responses.create(**kwargs).output_text
        def ask(prompt):
            return call(input=prompt)
        def write(topic):
            return ask("Write about " + topic)
        def judge(x):
            return ask("Grade it from 1 to 5: " + x) == "5"
        """
    assert [site.line for site in sites_of(text)] == [9]


def test_a_helper_nobody_calls_is_the_question_itself() -> None:
    text = """
        from openai import OpenAI
        def judge(prompt):
            return int(OpenAI().responses.create(instructions="Rate it.", input=prompt).output_text)
        def recursive(prompt):
            return recursive(prompt) or int(OpenAI().responses.create(input=prompt).output_text)
        """
    assert [site.line for site in sites_of(text)] == [3]


def test_an_answer_that_is_judged_is_no_verdict() -> None:
    text = """
        from openai import OpenAI
        ask = OpenAI().responses.create
        client = OpenAI()
        def judge(x):
            story = client.responses.create(input="Rate is a river. Tell its story.").output_text
            verdict = client.responses.create(input="Rate this story from 1 to 5: " + story).output_text
            return int(verdict)
        """
    assert [site.line for site in sites_of(text)] == [6]


@pytest.mark.parametrize(
    "given",
    [
        "evaluate(target, evaluators=[judge])",
        "Client().evaluate(target, evaluators=[short, judge])",
        "checks = [judge]\nevaluate(target, evaluators=checks)",
    ],
)
def test_a_function_given_to_langsmith_is_a_run_evaluator(given: str) -> None:
    text = f"""
from langsmith import Client, evaluate
from openai import OpenAI
def judge(inputs, outputs):
    reply = OpenAI().responses.create(input="Grade: " + outputs["a"]).output_text
    return reply == "good"
{given}
"""
    assert [(site.framework, site.kind) for site in sites_of(text)] == [("handwritten", "run_evaluator")]


def test_a_decorated_function_and_a_method_of_a_run_evaluator_are_too() -> None:
    text = """
        from langsmith.evaluation import RunEvaluator, run_evaluator
        from openai import OpenAI
        @run_evaluator
        def judge(run, example):
            return {"score": int(OpenAI().responses.create(input="Grade: " + run.x).output_text)}
        class Judge(RunEvaluator):
            def evaluate_run(self, run, example=None):
                return {"score": int(OpenAI().responses.create(input="Grade: " + run.x).output_text)}
        """
    assert [site.kind for site in sites_of(text)] == ["run_evaluator", "run_evaluator"]


def test_asking_a_langchain_evaluator_is_no_judge_of_its_own() -> None:
    text = """
        from langchain_classic.evaluation import load_evaluator
        judge = load_evaluator("qa", llm=llm)
        def grade(x):
            return judge.invoke({"query": "Is the answer correct? Grade " + x})["results"] == "CORRECT"
        """
    assert [site.kind for site in sites_of(text)] == ["qa"]


def test_a_batch_of_copies_samples_several_times() -> None:
    text = """
        from langchain_openai import ChatOpenAI
        llm = ChatOpenAI()
        def judge(x, k):
            prompt = "Grade it good or bad: " + x
            replies = llm.batch([prompt] * 5)
            more = llm.batch([prompt] * k)
            other = llm.batch([prompt, "Grade nothing"])
            return [r.content == "good" for r in (*replies, *more, *other)]
        """
    assert [site.samples for site in sites_of(text)] == [5, None, 1]


def test_a_model_that_is_asked_under_an_alias_is_not_missed_by_the_search_in_the_text() -> None:
    found = sites_of("""
        from litellm import completion as ask

        def ok(text):
            answer = ask(model="m", messages=[{"role": "user", "content": "Grade this answer PASS or FAIL: " + text}])
            return "PASS" in answer.choices[0].message.content
        """)
    assert [site.kind for site in found] == ["invoke"]


def test_why_an_answer_ended_is_no_verdict() -> None:
    found = sites_of("""
        def step(client, messages):
            answer = client.messages.create(model="m", system="Evaluate expressions.", messages=messages)
            return answer.stop_reason == "tool_use"
        """)
    assert found == ()


def test_a_helper_that_judges_elsewhere_makes_no_judge_of_other_questions() -> None:
    text = """\
        from openai import OpenAI
        client = OpenAI()
        def ask(prompt, **options):
            return client.chat.completions.create(messages=[{"content": prompt}], **options)
        def test_judged(answer):
            assert ask("Judge the answer, yes or no: " + answer) == "yes"
        def test_translated():
            assert "bonjour" in ask("Translate into French: hello")
        """
    assert [site.line for site in sites_of(text)] == [6]


@pytest.mark.parametrize(
    ("prompt", "verdict"),
    [
        ("Mark the exam. Marks out of 10: ", "int(text)"),
        ("Which of the two would a customer prefer? Say 1 or 2. ", "text == '1'"),
        ("Which candidate is the best? Just the number. ", "int(text)"),
    ],
)
def test_marks_and_preferences_are_asked_of_a_judge(prompt: str, verdict: str) -> None:
    text = f"from openai import OpenAI\ndef f(x):\n    text = OpenAI().responses.create(input={prompt!r} + x)\n"
    assert [site.line for site in sites_of(f"{text}    return {verdict}\n")] == [3]
