"""Questions to a model: the calls that ask one, the words they ask with, what is known of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst
from libcst.metadata import Assignment

from .modules import ABOUT_ANSWERS, CLOSED, ROLE
from .syntax import RUN_METHODS, Offer, dotted, is_zero, last_name, walk
from .view import ModuleView, is_fixture, once_a_view, string_of, texts_below

_LAYERS = 3  # helper functions between the judge and the client
_EVALUATES = frozenset({"evaluate_strings", "aevaluate_strings", "evaluate_string_pairs", "aevaluate_string_pairs"})


@once_a_view
def all_questions(view: ModuleView) -> frozenset[cst.Call]:
    """Return the calls behind which something new begins: an answer of a model is no longer what it was asked about."""
    clients = (call for call in view.calls if asks_model(view, call))
    evaluators = (
        call for call in view.calls if isinstance(call.func, cst.Attribute) and call.func.attr.value in _EVALUATES
    )
    return frozenset((*clients, *evaluators, *questions(view)))


def questions(view: ModuleView) -> tuple[cst.Call, ...]:
    """Return the calls that word a question to a model: those of a client, or of a helper around it."""
    found: dict[cst.Call, None] = {}
    for call in view.calls:
        if asks_model(view, call):
            for one in _worded(view, call, _LAYERS):
                found[one] = None
    return tuple(found)


def _worded(view: ModuleView, call: cst.Call, layers: int) -> Iterator[cst.Call]:
    """A call, or in its place the calls of its function if they bring the words of judging."""
    function = view.function_of(call)
    if function is None or layers == 0 or asks_to_judge(prompt_text(view, call)) or not reads_parameters(view, call):
        yield call
        return
    callers = [one for one in view.calls_of(function) if view.function_of(one) is not function]
    if not callers:
        yield call
    for one in callers:
        yield from _worded(view, one, layers - 1)


def _clients_behind(view: ModuleView, call: cst.Call) -> Iterator[cst.Call]:
    """Yield the calls of a client that a helper makes, up to the helpers' depth."""
    waiting = [(call, _LAYERS)]
    while waiting:
        current, layers = waiting.pop()
        for function in view.callees(current) if layers else ():
            for node in view.own_nodes(function):
                if isinstance(node, cst.Call):
                    if asks_model(view, node):
                        yield node
                    elif view.callees(node):
                        waiting.append((node, layers - 1))


_METHODS = frozenset(
    {
        *("invoke", "ainvoke", "predict", "apredict", "predict_messages", "apredict_messages"),
        *("generate", "agenerate", "complete", "acomplete", "batch", "abatch"),
        *("generate_content", "generate_content_async", "chat_completion", "converse", "send_message"),
    }
)
# the last parts of calls whose last name alone says nothing
_ENDINGS = (
    *("chat.completions.create", "responses.create", "messages.create", "completions.parse", "responses.parse"),
    *("completions.create", "ChatCompletion.create", "ChatCompletion.acreate", "chat.complete", "chat.complete_async"),
    *("messages.parse", "chat.parse"),
)
_FUNCTIONS = frozenset(
    {
        *("litellm.completion", "litellm.acompletion", "litellm.responses", "litellm.aresponses"),
        *("ollama.chat", "ollama.generate", "litellm.main.completion", "aisuite.completion"),
    }
)
# objects that ask when they are called themselves, or run
_CHAINS = re.compile(
    r"^(?:langchain\w*|langgraph)\..*\b(?:Chat\w+|OpenAI|Ollama\w*|LLMChain)$|^pydantic_ai\.(?:\w+\.)*Agent$|^dspy\.(?:\w+\.)*(?:Predict|ChainOfThought)$"
)
# functions of any name that ask, where what they are given begins as the prompt of a judge
_ASKING = re.compile(
    r"^(?!_*(?:make|build|create|get|format|render|load|set|add|with)_)(?:\w+_)?a?(?:ask|call|query|chat|complet\w*|generat\w*|llm|lm|model|gpt\w*"
    r"|claude|gemini|client|invoke|respond|answer|infer|predict|send|judge|grade|evaluate|score|request)(?:_\w+)?$"
)
_PAYLOAD = frozenset({"messages", "prompt", "contents", "inputs", "input"})  # keys of a request to a model by HTTP
_RUNS = frozenset({"run", "run_sync", "arun", "apply", "aapply", "acall", "__call__"})


def asks_model(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call asks a language model: by the client's path, the function's name, or what is called."""
    if isinstance(call.func, cst.Attribute):
        path = f".{_path(call.func)}"
        if call.func.attr.value in _METHODS or any(path.endswith(f".{ending}") for ending in _ENDINGS):
            return True
        if call.func.attr.value in _RUNS:
            return _is_chain(view, call.func.value)
        if call.func.attr.value == "post" and _posts_prompt(view, call):
            return True
    if view.names(call.func) & _FUNCTIONS or _is_foreign_client(view, call) or _is_given_a_role(view, call):
        return True
    return isinstance(call.func, (cst.Name, cst.Call)) and _is_chain(view, call.func)


def _posts_prompt(view: ModuleView, call: cst.Call) -> bool:
    """`requests.post(url, json={"messages": ...})`."""
    given = (view.argument(call, name) for name in ("json", "data"))
    return any(
        isinstance(pair, cst.DictElement) and view.value(pair.key) in _PAYLOAD
        for entry in given
        if entry is not None
        for made in (entry, *view.origins(entry))
        if isinstance(made, cst.Dict)
        for pair in made.elements
    )


def _is_given_a_role(view: ModuleView, call: cst.Call) -> bool:
    """`llm("You are a judge ...")`, whatever `llm` is; a function of this file asks by what stands in it."""
    if not _ASKING.match(last_name(call.func)):
        return False
    texts = (text for arg in call.args for text in _leading_texts(view, arg.value))
    return any(opens_as_judge(text) for text in texts) and not view.callees(call)


def _is_chain(view: ModuleView, node: cst.BaseExpression) -> bool:
    """Whether an expression is an object that asks a model when it is run."""
    return any(
        _CHAINS.match(name)
        for made in view.origins(node)
        if isinstance(made, cst.Call)
        for name in view.names(made.func)
    )


def _path(node: cst.BaseExpression) -> str:
    """Return `chat.completions.create` of `self.client().chat.completions.create`."""
    if isinstance(node, cst.Attribute):
        return f"{_path(node.value)}.{node.attr.value}"
    return dotted(node)


def foreign_judge(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    """Return the judge of another file an expression is: its name, or a call that makes it."""
    if isinstance(node, cst.Call):
        offer, role = offer_of_call(view, node), "maker"
    else:
        offer, role = _offer_at(view, node.value if isinstance(node, cst.Subscript) else node), "judge"
    return offer if offer is not None and offer.role == role else None


def given_function(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    """Return the judge in a function of another file that is handed on: `evaluate(target, evaluators=[grade])`."""
    offer = _given_object(view, node) or _offer_at(view, node)
    return offer if offer is not None and offer.role == "asker" else None


def _given_object(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    """Return what an object of another file's class does when it is called: `evaluate(app, evaluators=[Grader()])`."""
    methods = _methods(view, node)
    return next((methods[name] for name in sorted(RUN_METHODS) if name in methods), None)


def object_methods(view: ModuleView, node: cst.CSTNode) -> set[str]:
    """Return the methods that ask of an object made of another file's class."""
    return {*_methods(view, node)}


def _methods(view: ModuleView, node: cst.CSTNode) -> Mapping[str, Offer]:
    owner = _offer_at(view, node.func) if isinstance(node, cst.Call) else None
    return owner.methods if owner is not None and owner.role == "class" else {}


def _is_foreign_client(view: ModuleView, call: cst.Call) -> bool:
    """Whether a call runs a function of another file that asks a model what it is given."""
    offer = offer_of_call(view, call) if view.tree is not None else None
    return offer is not None and offer.role == "client"


def offer_of_call(view: ModuleView, call: cst.Call) -> Offer | None:
    """Return what a call of a function of another file does, or of a method of an object made there."""
    offer = _offer_at(view, call.func)
    if offer is not None or not isinstance(call.func, cst.Attribute):
        return offer
    for made in view.origins(call.func.value) if view.tree is not None else ():
        owner = _offer_at(view, made.func if isinstance(made, cst.Call) else made)
        if owner is not None and owner.role == ("class" if isinstance(made, cst.Call) else "object"):
            return owner.methods.get(call.func.attr.value)
    return None


def _offer_at(view: ModuleView, node: cst.CSTNode) -> Offer | None:
    if view.tree is None or not isinstance(node, (cst.Name, cst.Attribute)):
        return None
    for full in sorted(view.names(node)):
        offer = view.tree.offer(view.path, full)
        if offer is not None:
            return offer
    return _fixture(view, node) if isinstance(node, cst.Name) else None


def _fixture(view: ModuleView, node: cst.Name) -> Offer | None:
    """The judge pytest gives a test or a fixture by the name of its parameter."""
    offer = None if view.tree is None else view.tree.fixture(view.path, node.value)
    function, scope = (view.function_of(node), view.scope(node)) if offer is not None else (None, None)
    if function is None or scope is None:
        return None
    if not (function.name.value.startswith("test") or is_fixture(function)):
        return None
    bound = (one.node for one in scope[node.value] if isinstance(one, Assignment))
    if not any(isinstance(one, cst.Param) or isinstance(view.parent(one), cst.Param) for one in bound):
        return None
    if any(one.name.value == node.value and is_fixture(one) for one in view.functions):
        return None
    return offer


_JUDGING = re.compile(
    r"\bjudg(?:e|es|ing|e?ment)\b|\bevaluat(?:e|es|or|ing|ion)\b|\bgrad(?:e|es|er|ing)\b|\brat(?:e|es|er|ing)\b"
    r"|\bscor(?:e|es|ing)\b|\bverdict\b|\bassess(?:es|ing|ment)?\b|\bcritique\b|\brubric\b|\bon a scale\b|\[\[[AB]\]\]"
    r"|\bwhich\b[^.?\n]{0,60}\b(?:is|was) better\b|\bbetter (?:one|answer|response)\b|\bPASS\b[^.\n]{0,40}\bFAIL\b"
    r"|\bis (?:the|this) (?:\w+ ){1,3}(?:correct|good|helpful|faithful|grounded|polite|relevant|better)\b"
    r"|\bcompare\b[^.\n]{0,60}\b(?:answer|response|repl|output)|\bcompare (?:two|these|both)\b"
    r"|\b(?:determine|decide|check) (?:if|whether)\b|\bout of (?:5|10|100|five|ten)\b"
    r"|\bwhich (?:of|one|answer|response|reply|candidate)\b[^.?\n]{0,60}\b(?:prefer|best)",
    re.IGNORECASE,
)
ORDER_WARNING = re.compile(
    r"position(?:al)? bias|\border\b[^.\n]{0,50}\b(?:present|shown|appear|response|answer|repl|given)"
    r"|(?:influence|affect|sway|regardless|ignor|irrespective)[^.\n]{0,60}\b(?:order|position)\b"
    r"|\b(?:order|position)\b[^.\n]{0,60}(?:influence|affect|sway|matter)",
    re.IGNORECASE,
)
# what a prompt tells the model to do, where nothing but a grade comes back
_AT_ONCE = re.compile(
    r"(?:^|[.!?:\n]\W*|\bplease )(?:grade|score|rate|judge) (?:the|this|that|these|both|each|it|how|whether)\b"
    r"|\bwhich\b[^.?\n]{0,60}\b(?:is|was) (?:the )?better\b",
    re.IGNORECASE,
)
_PROMPT_STEPS = 400  # expressions looked at; prompts are near
_DEPTH = 6  # names, builders and chains between a question and its words


def asks_to_judge(prompt: str) -> bool:
    """Whether a prompt has words of judging, or asks about an answer and allows few answers itself."""
    return bool(_JUDGING.search(prompt) or (CLOSED.search(prompt) and ABOUT_ANSWERS.search(prompt)))


def grades_at_once(prompt: str) -> bool:
    """Whether the whole answer to a prompt is a verdict: it allows few answers, or asks for a grade and no more."""
    return bool(CLOSED.search(prompt) or _AT_ONCE.search(prompt))


def opens_as_judge(text: str) -> bool:
    """Whether a prompt, or one of those that are joined, begins by making the model a judge."""
    return bool(ROLE.search(text))


def _leading_texts(view: ModuleView, node: cst.CSTNode, depth: int = 3) -> Iterator[str]:
    """Yield the fixed texts an expression may begin with: `"You are a judge." + x`, `P.format(x)`, a variable's."""
    match node:
        case cst.BinaryOperation(left=left):
            yield from _leading_texts(view, left, depth)
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if method in _KEEP_THE_BEGINNING:
            yield from _leading_texts(view, owner, depth)
        case cst.Name() | cst.Attribute() if depth:
            for one in view.steps(node):
                if one is not node:
                    yield from _leading_texts(view, one, depth - 1)
        case _:
            yield string_of(node)


def prompt_text(view: ModuleView, ask: cst.Call) -> str:
    """Return the texts that reach a question: literals, constants, templates, chains, builders, schemas.

    Parameters of the function that asks are not followed to its callers: their words are of another question.
    """
    if ask not in view.prompt_texts:
        view.prompt_texts[ask] = "\n".join(_texts(view, ask))
    return view.prompt_texts[ask]


def _texts(view: ModuleView, ask: cst.Call) -> Iterator[str]:
    seen: set[cst.CSTNode] = set()
    waiting: list[tuple[cst.CSTNode, int]] = [(one, _DEPTH) for one in (ask.func, *(arg.value for arg in ask.args))]
    while waiting and len(seen) < _PROMPT_STEPS:
        node, depth = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, cst.ClassDef):
            yield from (string_of(one) for one in walk(node) if isinstance(one, cst.SimpleString))
            continue
        yield from texts_below(node)
        for inner in (node, *walk(node, stop=_OTHERS)) if depth > 0 else ():
            yield from _imported(view, inner)
            waiting.extend((one, depth - 1) for one in _sources(view, inner, ask))


_KEEP_THE_BEGINNING = frozenset({"format", "strip", "rstrip", "lstrip", "replace", "format_map"})
_OTHERS = (cst.FunctionDef, cst.ClassDef)
_PROMPT = re.compile(r"prompt|template|instruction|rubric", re.IGNORECASE)


def _imported(view: ModuleView, node: cst.CSTNode) -> Iterator[str]:
    """The words of a prompt of another scanned file, and of its name: `GRADER_PROMPT` speaks for itself."""
    if view.tree is not None and isinstance(node, (cst.Name, cst.Attribute)):
        yield from filter(None, (view.tree.words(view.path, full) for full in sorted(view.names(node))))
    if isinstance(node, (cst.Name, cst.Attribute)) and _PROMPT.search(last_name(node)) and view.names(node):
        yield last_name(node).replace("_", " ")


def _sources(view: ModuleView, node: cst.CSTNode, ask: cst.Call) -> Iterator[cst.CSTNode]:
    """What a name or a field in a question stands for, one step back."""
    if isinstance(node, cst.Name) and not view.is_label(node) and not _is_parameter(view, node, ask):
        yield from (step for step in view.steps(node) if step is not node)
        yield from _added(view, node)
    elif isinstance(node, cst.Attribute):
        yield from (step for step in view.steps(node) if step is not node)


def _is_parameter(view: ModuleView, node: cst.Name, ask: cst.Call) -> bool:
    """Whether a name is given to the function that asks or to a helper; what `__init__` is given, its object keeps."""
    function, helper = view.function_of(ask), view.function_of(node)
    if function is not None and node.value in _parameters(function):
        return True
    return helper is not None and helper.name.value != "__init__" and node.value in _parameters(helper)


def _parameters(function: cst.FunctionDef) -> set[str]:
    params = function.params
    stars = (one for one in (params.star_arg, params.star_kwarg) if isinstance(one, cst.Param))
    return {
        one.name.value
        for one in (*params.posonly_params, *params.params, *params.kwonly_params, *stars)
        if one.default is None or isinstance(one.default, cst.Name)
    }


def _added(view: ModuleView, name: cst.Name) -> Iterator[cst.CSTNode]:
    """What is appended to a list of messages in the same function."""
    for call in view.additions.get(name.value, ()):
        if view.function_of(call) is view.function_of(name):
            yield from (arg.value for arg in call.args)


def reads_parameters(view: ModuleView, ask: cst.Call) -> bool:
    """Whether what a function asks is given to it, so that its callers word the question."""
    function = view.function_of(ask)
    if function is None:
        return False
    names = _parameters(function) - {"self", "cls"}
    waiting: list[cst.CSTNode] = [arg.value for arg in ask.args]
    seen: set[cst.CSTNode] = set()
    while waiting and len(seen) < _PROMPT_STEPS:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        for inner in (node, *walk(node)):
            if isinstance(inner, cst.Name):
                if inner.value in names:
                    return True
                waiting.extend(
                    step for step in view.steps(inner) if step is not inner and view.function_of(step) is function
                )
                waiting.extend(_added(view, inner))
    return False


_MODEL_ARGUMENTS = ("llm", "judge", "model", "client", "eval_llm", "chat_model")
_MODEL_STEPS = 60


def model_calls(view: ModuleView, call: cst.Call) -> Iterator[cst.Call]:
    """Yield the calls that configure what a call asks: itself, the client call behind a helper, its model's maker."""
    seen: set[cst.CSTNode] = set()
    waiting: list[cst.CSTNode] = [call, *_clients_behind(view, call)]
    while waiting and len(seen) < _MODEL_STEPS:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, cst.Call):
            yield node
            if isinstance(node.func, cst.Attribute):
                waiting.append(node.func.value)
            given = [view.argument(node, name) for name in _MODEL_ARGUMENTS]
            given += [view.argument(node, "", 0)] if last_name(node.func) == "from_llm" else []
            waiting.extend(one for one in (*given, *_configured(view, node)) if one is not None)
        elif isinstance(node, (cst.BinaryOperation, cst.Attribute)):
            waiting.extend(view.steps(node))
            if isinstance(node, cst.Attribute):
                waiting.append(node.value)
        elif isinstance(node, cst.Name):
            waiting.extend(origin for origin in view.origins(node) if not isinstance(origin, cst.FunctionDef))


def _configured(view: ModuleView, call: cst.Call) -> Iterator[cst.CSTNode]:
    """The model in `config={"llm": ...}` and in `**config`."""
    configs = [arg.value for arg in call.args if arg.star == "**" or (arg.keyword and arg.keyword.value == "config")]
    for made in (origin for config in configs for origin in view.origins(config)):
        if isinstance(made, cst.Dict):
            pairs = (element for element in made.elements if isinstance(element, cst.DictElement))
            yield from (pair.value for pair in pairs if view.value(pair.key) in _MODEL_ARGUMENTS)


def at_temperature_zero(view: ModuleView, call: cst.Call) -> bool:
    """Whether every temperature given for the model behind a call is a literal 0; False where none is seen."""
    given = [view.argument(one, "temperature") for one in model_calls(view, call)]
    values = [view.value(entry) for entry in given if entry is not None]
    return bool(values) and all(map(is_zero, values))


def model_option(view: ModuleView, call: cst.Call, name: str) -> Any:
    """Return the constant given for an option of the model behind a call; `...` where none is seen."""
    for one in model_calls(view, call):
        given = view.argument(one, name)
        value = ... if given is None else view.value(given)
        if value is not ...:
            return value
    return ...


def model_name(view: ModuleView, call: cst.Call) -> str | None:
    """Return the model's name without its provider (`openai:gpt-4o` is `gpt-4o`)."""
    for option in ("model", "model_name", "deployment_name"):
        value = model_option(view, call, option)
        if isinstance(value, str):
            return value.rpartition(":")[2].rpartition("/")[2]
    return None
