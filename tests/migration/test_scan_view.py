"""What names stand for and where values come from."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
from scan_bench import source_of

from judgeharness_integrations.migration.questions import model_name, model_option
from judgeharness_integrations.migration.rules.answers import is_answer
from judgeharness_integrations.migration.view import ModuleView


def last_argument(text: str) -> tuple[ModuleView, cst.BaseExpression]:
    """The view of a text, and what its last `look(...)` is given."""
    view = source_of(text).view
    looks = [call for call in view.calls if isinstance(call.func, cst.Name) and call.func.value == "look"]
    looks.sort(key=lambda call: view.position(call).start.line)
    return view, looks[-1].args[0].value


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("a = make()\nlook(a)", "make()"),
        ("a: int = make()\nlook(a)", "make()"),
        ("if (a := make()):\n    look(a)", "make()"),
        ("a, b = x(), make()\nlook(b)", "make()"),
        ("a, b = make()\nlook(b)", "make()"),
        ("a = ''\na += make()\nlook(a)", "make()"),
        ("with make() as a:\n    look(a)", "make()"),
        ("for a in [make()]:\n    look(a)", "make()"),
        ("[look(a) for a in (make(),)]", "make()"),
        ("look([make() for _ in x][0])", "make()"),
        ("d = {k: make() for k in x}\nlook(d['a'])", "make()"),
        ("d = {'a': other(), 'b': make()}\nlook(d['b'])", "make()"),
        ("d = {'b': make()}\nlook(d.get('b'))", "make()"),
        ("d = {'b': make()}\nfor a in d.values():\n    look(a)", "make()"),
        ("l = [other(), make()]\nlook(l[1])", "make()"),
        ("for a in list([make()]):\n    look(a)", "make()"),
        ("a = x if y else make()\nlook(a)", "make()"),
        ("a = x or make()\nlook(a)", "make()"),
        ("a = x | make()\nlook(a)", "make()"),
        ("async def f():\n    a = await make()\n    look(a)", "make()"),
        ("def f():\n    return make()\nlook(f())", "make()"),
        ("def f(a=make()):\n    look(a)", "make()"),
        ("def f(x, a):\n    look(a)\nf(1, make())", "make()"),
        ("def f(*, a):\n    look(a)\nf(a=make())", "make()"),
        ("class C:\n    def f(self, a):\n        look(a)\nC().f(make())", "make()"),
        ("class C:\n    a = make()\n    def f(self):\n        look(self.a)", "make()"),
        ("class C:\n    def g(self):\n        return make()\n    def f(self):\n        look(self.g())", "make()"),
        ("look(functools.partial(make()))", "make()"),
        ("look(make().with_retry())", "make()"),
        ("s = {make()}\nfor a in s:\n    look(a)", "make()"),
    ],
)
def test_values_are_followed_back(text: str, origin: str) -> None:
    view, node = last_argument(text)
    assert origin in [view.module.code_for_node(one) for one in view.origins(node) if isinstance(one, cst.Call)]


@pytest.mark.parametrize(
    "text",
    [
        "d = {'a': other(), 'b': make()}\nlook(d['a'])",
        "l = [other(), make()]\nlook(l[0])",
        "a, b = make(), x()\nlook(b)",
        "a = {}\na[0] = make()\nlook(b)",
        "def f(a):\n    look(a)\ng(make())",
        "look(self.a)",
        "import make as a\nlook(a)",
        "(a, *b)[0] = make()\nlook(b)",
    ],
)
def test_values_of_something_else_are_not(text: str) -> None:
    view, node = last_argument(text)
    assert "make()" not in [view.module.code_for_node(one) for one in view.origins(node) if isinstance(one, cst.Call)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("look('a' 'b')", "ab"),
        ("look(3)", 3),
        ("look(-1.5)", -1.5),
        ("look(None)", None),
        ("X = True\nlook(X)", True),
        ("look(f'{x}')", ...),
        ("look(b'x')", ""),
        ("X = 1\nX = 2\nlook(X)", ...),
        ("look(f())", ...),
    ],
)
def test_constants(text: str, value: Any) -> None:
    view, node = last_argument(text)
    assert view.value(node) == value


def test_no_expression_has_no_constant() -> None:
    assert source_of("x = 1").view.value(None) is ...


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from a import b\nlook(b)", {"a.b"}),
        ("import a.b as c\nd = c.e\nlook(d.f)", {"a.b.e.f"}),
        ("try:\n    from a import b\nexcept ImportError:\n    from c import b\nlook(b)", {"a.b", "c.b"}),
        ("from a import *\nfrom c import *\nlook(b)", {"a.b", "c.b"}),
        ("from a import *\ndef b(): ...\nlook(b)", set()),
        ("from a import b\nT = {'x': b}\nc = T[k]\nlook(c)", {"a.b"}),
        ("a = b\nb = a\nlook(a)", set()),
        ("look(b)", set()),
        ("look(f()())", set()),
    ],
)
def test_full_names(text: str, names: set[str]) -> None:
    view, node = last_argument(text)
    assert view.names(node) == names


def test_a_long_chain_of_aliases_is_given_up() -> None:
    chain = "\n".join(f"a{number + 1} = a{number}" for number in range(50))
    view, node = last_argument(f"from a import b as a0\n{chain}\nlook(a50)")
    assert view.names(node) == frozenset()


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("reply.choices[0].text.strip().lower()", True),
        ("str(reply)", True),
        ("(reply or '').split()[-1]", True),
        ("helper(reply)", True),
        ("self.kept", True),
        ("json.loads(reply)", False),
        ("len(reply)", False),
        ("other", False),
    ],
)
def test_what_is_still_the_text_of_an_answer(expression: str, kept: bool) -> None:  # noqa: FBT001
    view, node = last_argument(
        "def helper(x):\n    return x.strip()\nclass C:\n    def f(self):\n        reply = ask()\n"
        f"        self.kept = reply\n        look({expression})\n"
    )
    ask = next(call for call in view.calls if isinstance(call.func, cst.Name) and call.func.value == "ask")
    assert is_answer(view, node, [ask]) is kept


def test_an_awaited_answer_is_an_answer() -> None:
    view, node = last_argument("async def f():\n    look((await ask()).text)\n")
    ask = next(call for call in view.calls if isinstance(call.func, cst.Name) and call.func.value == "ask")
    assert is_answer(view, node, [ask])


@pytest.mark.parametrize(
    ("call", "name", "temperature"),
    [
        ("client.create(model='openai/gpt-4o', temperature=0)", "gpt-4o", 0),
        ("load(llm=Chat(model='anthropic:claude', temperature=1))", "claude", 1),
        ("Chain.from_llm(Chat(model_name='m'))", "m", ...),
        ("(prompt | Chat(model='m')).invoke(x)", "m", ...),
        ("helper(x)", "inner", 0.5),
        ("client.create(x)", None, ...),
        ("client.create(model=unknown)", None, ...),
    ],
)
def test_the_model_behind_a_call(call: str, name: str | None, temperature: float) -> None:
    view, node = last_argument(
        f"def helper(x):\n    return client.responses.create(model='inner', temperature=0.5, input=x)\nlook({call})\n"
    )
    assert isinstance(node, cst.Call)
    assert model_name(view, node) == name
    assert model_option(view, node, "temperature") == temperature
