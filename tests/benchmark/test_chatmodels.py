"""Models that answer prompts: plain functions, files of the user's, adapters, and how their JSON is read."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.usage import Price, price_of
from judgeharness_integrations.cli.benchmark.asking import ModelFile, read_model_file
from judgeharness_integrations.cli.benchmark.options import Asking
from judgeharness_integrations.judging import adapters
from judgeharness_integrations.judging.adapters import chat_model
from judgeharness_integrations.judging.chatmodels import ChatModel, Completion, FunctionModel, Prompt, parsed_object
from judgeharness_integrations.judging.functionsource import import_file

PROMPT = Prompt(step="greeting", system="Say a word.", user="", schema={"type": "object"})
MINE = """
from dataclasses import dataclass
from helper_of_mine import greeting
from judgeharness_integrations.judging.chatmodels import Completion

def plain(prompt):
    return {"word": greeting}

async def slow(prompt):
    return f"{prompt.step}: {greeting}"

@dataclass
class Own:
    name: str = "own"
    parameters = {"temperature": 0}

    async def complete(self, prompt):
        return Completion(text="", parsed={"word": self.name}, input_tokens=3)

own = Own()
number = 5
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "models.py").write_text(MINE)
    (tmp_path / "helper_of_mine.py").write_text('greeting = "hello"\n')
    sys.modules.pop("helper_of_mine", None)
    return str(tmp_path / "models.py")


def complete(model: ChatModel) -> Completion:
    return asyncio.run(model.complete(PROMPT))


@pytest.mark.parametrize(
    ("said", "text", "parsed"),
    [
        ("hello", "hello", None),
        ({"word": "ö"}, '{"word": "ö"}', {"word": "ö"}),
        (5, "5", None),
    ],
)
def test_a_function_answers_with_a_text_or_a_mapping(said: Any, text: str, parsed: Any) -> None:
    model = FunctionModel(function=lambda _: said, name="mine")
    assert isinstance(model, ChatModel)
    assert (complete(model).text, complete(model).parsed) == (text, parsed)


def test_a_function_may_say_what_its_answer_took() -> None:
    answer = Completion(text="hi", input_tokens=1, ended="truncated")

    async def say(_: Prompt) -> Completion:
        return answer

    assert complete(FunctionModel(function=say, name="mine")) is answer


def test_the_digest_is_of_what_the_model_is_told_and_of_nothing_else() -> None:
    told: dict[str, Any] = {"step": "other", "system": "Say a word.", "user": "", "schema": {"type": "object"}}
    assert Prompt(**told, sample=2).digest == PROMPT.digest
    for name, other in (("system", "Say two."), ("user", "x"), ("schema", {})):
        assert Prompt(**(told | {name: other})).digest != PROMPT.digest
    assert len(Prompt(**(told | {"user": "\ud800"})).digest) == 32


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.integers())))
def test_an_object_is_read_from_structured_output_text_or_one_fence(data: dict[str, Any]) -> None:
    import json

    text = json.dumps(data)
    for shown in (text, f"\n {text}\n", f"```json\n{text}\n```", f"```\n{text}\n```"):
        assert parsed_object(Completion(text=shown)) == data
    assert parsed_object(Completion(text="anything", parsed=data)) == data


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[1]", "5", '{"a": 1', 'Here it is: {"a": 1}', '{"a": 1} {"a": 2}', "```json```", "[" * 100_000],
)
def test_nothing_else_is_an_object(text: str) -> None:
    assert parsed_object(Completion(text=text)) is None


def test_a_file_of_ones_own_gives_functions_and_models(mine: str) -> None:
    assert complete(chat_model(f"{mine}:plain")).parsed == {"word": "hello"}
    slow = chat_model(f"{mine}:slow")
    assert (slow.name, complete(slow).text) == ("slow", "greeting: hello")
    own = chat_model(f"{mine}:own")
    assert (own.name, own.parameters, complete(own).parsed) == ("own", {"temperature": 0}, {"word": "own"})
    assert chat_model(f"{mine}:own") is own  # read once


def test_two_files_of_one_name_are_two(mine: str, tmp_path: Path) -> None:
    other = tmp_path / "other" / "models.py"
    other.parent.mkdir()
    other.write_text("def plain(prompt):\n    return 'another'\n")
    assert complete(chat_model(f"{mine}:plain")).parsed == {"word": "hello"}
    assert complete(chat_model(f"{other}:plain")).text == "another"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (":number", "is neither a chat model nor a function of a prompt"),
        (":Own", "is neither a chat model nor a function of a prompt"),
        (":nobody", "has no 'nobody'"),
        ("", r"name what stands in the file, as .+models\.py:generator"),
    ],
)
def test_a_file_that_holds_something_else_is_one_sentence(mine: str, name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        chat_model(f"{mine}{name}")


def test_a_file_that_is_missing_or_broken_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.py does not exist\.$"):
        chat_model(f"{tmp_path / 'gone.py'}:x")
    broken = tmp_path / "broken.py"
    for _ in range(2):  # a file that could not be read is none
        broken.write_text("raise ValueError('not today')")
        with pytest.raises(ConfigError, match=r"cannot be imported \(ValueError: not today\)\.$"):
            chat_model(f"{broken}:x")
    broken.write_text("def x(prompt):\n    return 'mended'\n")
    assert complete(chat_model(f"{broken}:x")).text == "mended"


def test_a_file_that_is_no_python_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "models.txt").write_text("hello")
    with pytest.raises(ConfigError, match=r"models\.txt cannot be imported \(ImportError: it is no Python file\)\.$"):
        import_file(tmp_path / "models.txt", "x", where="model")


def test_another_spec_goes_to_the_adapter_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Mapping[str, Any]]] = []

    def build(spec: str, options: Mapping[str, Any]) -> ChatModel:
        asked.append((spec, options))
        return FunctionModel(function=lambda _: "", name=spec)

    made = adapters.Adapter(name="toy", extras={"toy": ()}, build_judge=lambda _: None, build_model=build)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(adapters, "find_adapter", lambda _: made)
    assert chat_model("openai:gpt-4o", {"temperature": 0}).name == "openai:gpt-4o"
    assert asked == [("openai:gpt-4o", {"temperature": 0})]
    without = adapters.Adapter(name="toy", extras={"toy": ()}, build_judge=lambda _: None)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(adapters, "find_adapter", lambda _: without)
    with pytest.raises(ConfigError, match="adapter 'toy' has no chat models"):
        chat_model("openai:gpt-4o", adapter="toy")


def test_an_adapter_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown adapter 'nowhere'"):
        chat_model("openai:gpt-4o", adapter="nowhere")


def test_a_model_file_says_options_and_prices(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        "options:\n  '*': {temperature: 0}\n  openai:gpt-4o: {temperature: 1, api_key: sk-secret}\n"
        "prices:\n  gpt-4o: {input: 2.5, output: 10, tiers: {flex: {input: 1.25, output: 5}}}\n"
    )
    models = read_model_file(path)
    assert models.prices == {"gpt-4o": Price(input=2.5, output=10, tiers={"flex": Price(input=1.25, output=5)})}
    budget = Asking(max_calls=5, max_cost=1.5).budget(models.prices)
    assert (budget.max_calls, budget.max_cost) == (5, 1.5)
    assert read_model_file(None) == ModelFile(options={}, prices={})
    with pytest.raises(UsageError, match="--max-cost needs prices"):
        Asking(max_cost=1).budget(read_model_file(None).prices)


def test_options_of_a_model_go_before_those_of_any(monkeypatch: pytest.MonkeyPatch) -> None:
    models = ModelFile(
        options={"*": {"a": 1, "b": 1}, "openai:gpt-4o": {"b": 2, "api_key": "sk-secret-key"}}, prices={}
    )

    def fail(spec: str, options: Mapping[str, Any]) -> ChatModel:
        raise ConfigError(f"{spec} cannot be made with {options['a']}, {options['b']} and {options['api_key']}.")

    monkeypatch.setattr("judgeharness_integrations.judging.adapters.chat_model", fail)
    with pytest.raises(ConfigError, match="with 1, 2 and") as refused:
        models.model("openai:gpt-4o")
    assert "sk-secret-key" not in str(refused.value)


@pytest.mark.parametrize("named", ["llama3:8b", "ollama:llama3:8b"])
def test_options_and_prices_are_found_with_and_without_the_provider(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models.yaml").write_text(
        f"options:\n  '*': {{a: 1, b: 1}}\n  {named}: {{b: 2}}\nprices:\n  {named}: {{input: 1, output: 2}}\n"
        "  4: {input: 3, output: 3}\n"
    )
    models, given = read_model_file(tmp_path / "models.yaml"), []

    def made(spec: str, options: Mapping[str, Any]) -> ChatModel:
        given.append((spec, dict(options)))
        return FunctionModel(function=str, name="llama3:8b")

    monkeypatch.setattr("judgeharness_integrations.judging.adapters.chat_model", made)
    name = models.model("ollama:llama3:8b").name
    assert given == [("ollama:llama3:8b", {"a": 1, "b": 2})]
    assert price_of(name, models.prices) == Price(input=1, output=2)
    assert price_of("4", models.prices) == Price(input=3, output=3)


@pytest.mark.parametrize("spec", ["", " ", "openai:", "models.py:"])
def test_a_spec_without_a_name_is_one_sentence(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"has no name: give one, as openai:gpt-4o, or path/to/file.py:generator."):
        chat_model(spec)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("options: [", "cannot be read"),
        ("", "must hold options and prices"),
        ("models: {}", "must hold options and prices"),
        ("options: {openai:gpt-4o: 5}", "must hold options and prices"),
        ("prices: {gpt-4o: {in: 5}}", "unknown key of prices.gpt-4o 'in': did you mean 'input'"),
        ("prices: {gpt-4o: {input: 5}}", "prices.gpt-4o has no output: write input and output, per million tokens"),
        ("!!python/object/apply:os.getcwd []", "cannot be read"),
    ],
)
def test_a_model_file_of_another_form_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=reason):
        read_model_file(path)


def test_a_model_file_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read \(No such file or directory\)"):
        read_model_file(tmp_path / "gone.yaml")


def test_a_function_is_another_model_once_its_file_is_changed(tmp_path: Path) -> None:
    """A function says nothing of itself: answers of the old one must not be taken for those of the new one."""
    for name, said in (("one.py", "a"), ("two.py", "a"), ("three.py", "b")):
        (tmp_path / name).write_text(f"def ask(prompt):\n    return {said!r}\n")
    one, two, three = (chat_model(f"{tmp_path / name}:ask").parameters for name in ("one.py", "two.py", "three.py"))
    assert one == two != three


def test_without_langchain_one_line_brings_all_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        raise NotInstalledError("langchain (langchain_core)", "langchain")

    monkeypatch.setattr("judgeharness_integrations.judging.adapters.find_adapter", missing)
    with pytest.raises(NotInstalledError, match=r"'openai:gpt-4o' is not installed: pip install '.*\[benchmark\]'"):
        read_model_file(None).model("openai:gpt-4o")


def test_a_model_of_no_known_provider_is_told_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["Unable to infer model provider, please specify 'model_provider' directly"]

    def build(spec: str, options: Mapping[str, Any]) -> ChatModel:
        raise ConfigError(f"model {spec!r} cannot be made: {said[0]}.")

    made = adapters.Adapter(name="toy", extras={"toy": ()}, build_judge=lambda _: None, build_model=build)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(adapters, "find_adapter", lambda _: made)
    with pytest.raises(ConfigError, match=r"^model 'mymodels:writer' names no provider .* provider:model, .*\.py:fun"):
        chat_model("mymodels:writer")
    said[0] = "wrong key"
    with pytest.raises(ConfigError, match=r"cannot be made: wrong key\.$"):
        chat_model("mymodels:writer")


def test_an_error_in_a_file_of_ones_own_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "erring.py").write_text("def ask(prompt):\n    return {}['side']\n")
    model = chat_model(f"{tmp_path / 'erring.py'}:ask")
    assert isinstance(model, FunctionModel)
    with pytest.raises(KeyError) as raised:
        complete(model)
    assert model.place(raised.value) == "erring.py, line 2"
    assert model.place(ValueError("from elsewhere")) is None
    assert FunctionModel(function=str, name="no file").place(raised.value) is None
