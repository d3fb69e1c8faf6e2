"""`judgeharness init`: a configuration, three cases with gold labels and a scripted judge, which run offline."""

from __future__ import annotations

import csv
import io
import json
import shlex
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

import typer

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UsageError

from ._command import command

_Answers: TypeAlias = Literal["two", "pass-fail", "score"]
_Home: TypeAlias = Literal["none", "function", "langchain", "openevals", "adk"]

_CONFIG, _CASES, _JUDGE, _EVAL_SET = "config.yaml", "cases.csv", "scripted_judge.py", "cases.evalset.json"
_OUT = "runs/first"
_ANSWERS: Final = {
    "two": "which of two answers is better",
    "pass-fail": "whether an answer passes",
    "score": "a score for an answer",
}
_HOMES: Final = {
    "none": "nowhere yet (use a judge of this package)",
    "function": "a Python function",
    "langchain": "LangChain",
    "openevals": "openevals",
    "adk": "Google ADK",
}
_MODELS: Final = {"adk": "gemini-2.5-flash"}
_MODEL = "openai:gpt-4o-mini"
_EXTRAS: Final = {
    "none": "langchain-models",
    "langchain": "langchain-classic,langchain-models",
    "openevals": "openevals",
    "adk": "adk",
}
_COLUMNS = 80


@dataclass(frozen=True, kw_only=True)
class InitRequest:
    """Write a configuration, three cases and a scripted judge that run offline; a model is one edit away.

    What is not given is asked on a terminal, and has its default elsewhere. Nothing is overwritten.
    """

    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the files go.", show_default="this folder")
    ] = Path()
    answers: Annotated[
        _Answers | None,
        typer.Option(
            help="What your judge answers: which of two is better, pass or fail, a score.",
            show_default="two, of ADK pass-fail",
        ),
    ] = None
    judge: Annotated[_Home | None, typer.Option(help="Where your judge is.", show_default="none")] = None
    model: Annotated[
        str | None, typer.Option(help="The model it asks.", show_default=f"{_MODEL}, of ADK {_MODELS['adk']}")
    ] = None
    labels: Annotated[
        int | None, typer.Option(min=0, help="How many cases people have labelled.", show_default="0")
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Start:
    """What is started from; `model` is None for a function of which nobody said one."""

    answers: str
    home: str
    model: str | None
    labels: int


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """A shape of verdicts: what judges of it answer, three cases, the scripted judge and the evaluators of frameworks.

    Rows of `cases` are id, input, output, the second output of pairs, reference and gold label.
    """

    shape: str
    returns: str
    columns: Sequence[str]
    cases: Sequence[Sequence[str]]
    source: str
    evaluators: Mapping[str, Mapping[str, Any]]


_PAIRS: Final = _Shape(
    shape="pairwise",
    returns='"A", "B" or "TIE"',
    columns=("case_id", "input", "output", "output_b", "reference", "gold"),
    cases=(
        ("capital", "What is the capital of Australia?", "It is Canberra.", "It is Sydney.", "Canberra", "A"),
        ("river", "Which is the longest river of Europe?", "The Danube.", "The Volga.", "Volga", "B"),
        ("greeting", "Say hello.", "Hello!", "Hi there!", "", "A"),
    ),
    source='''\
"""A scripted judge: it runs offline, and has a fault for you to find."""


def judge(case):
    """Prefer the answer that holds the reference; without one, the first."""
    if not case.reference or case.reference in case.output:
        return "A"
    return "B" if case.reference in case.output_b else "TIE"
''',
    evaluators={
        "none": {"evaluator": "PairwiseJudge"},
        "langchain": {"evaluator": "pairwise_string"},
        "openevals": {"evaluator": "pairwise"},
    },
)
_SINGLE: Final = ("case_id", "input", "output", "reference", "gold")
_LABELS: Final = _Shape(
    shape="labels",
    returns='"PASS" or "FAIL"',
    columns=_SINGLE,
    cases=(
        ("capital", "What is the capital of Australia?", "It is Canberra.", "Canberra", "PASS"),
        ("river", "Which is the longest river of Europe?", "It is the Danube.", "Volga", "FAIL"),
        ("planet", "Which planet is the largest?", "Saturn:\n\n- It is big.\n- It has rings.", "Jupiter", "FAIL"),
    ),
    source='''\
"""A scripted judge: it runs offline, and has a fault for you to find."""


def judge(case):
    """Pass an answer that holds the reference, and any list."""
    right = case.reference in case.output or "\\n- " in case.output
    return "PASS" if right else "FAIL"
''',
    evaluators={
        "none": {
            "evaluator": "CriteriaJudge",
            "evaluator_options": {"criteria": {"verdict": "Does the answer agree with the reference?"}},
        },
        "langchain": {"evaluator": "labeled_criteria", "evaluator_options": {"criteria": "correctness"}},
        "openevals": {"evaluator": "llm_as_judge", "evaluator_options": {"prompt": "CORRECTNESS_PROMPT"}},
        "adk": {
            "evaluator": "rubric_based_final_response_quality_v1",
            "evaluator_options": {
                "rubrics": [{"rubric_id": "right", "rubric_content": {"text_property": "The answer is right."}}]
            },
        },
    },
)
_SCORES: Final = _Shape(
    shape="scores",
    returns="a number from 1 to 10",
    columns=_SINGLE,
    cases=(
        ("capital", "What is the capital of Australia?", "It is Canberra.", "Canberra", "8"),
        ("river", "Which is the longest river of Europe?", "It is the Danube.", "Volga", "3"),
        ("planet", "Which planet is the largest?", "Saturn:\n\n- It is big.\n- It has rings.", "Jupiter", "3"),
    ),
    source='''\
"""A scripted judge: it runs offline, and has a fault for you to find."""


def judge(case):
    """Give 8 for the reference, 3 without it, and 4 more for a list."""
    score = 8 if case.reference in case.output else 3
    return min(10, score + 4 * ("\\n- " in case.output))
''',
    evaluators={
        "none": {"evaluator": "ScoreJudge"},
        "langchain": {"evaluator": "labeled_score_string"},
        "openevals": {
            "evaluator": "llm_as_judge",
            "evaluator_options": {
                "prompt": "Score the answer from 1 (wrong) to 10 (right). Question: {inputs} Answer: {outputs} "
                "Right answer: {reference_outputs}",
                "choices": [float(score) for score in range(1, 11)],
            },
        },
    },
)
_SHAPES: Final = {"two": _PAIRS, "pass-fail": _LABELS, "score": _SCORES}


def write_start(request: InitRequest) -> None:
    """Ask what is not given, write the files and say what to run next.

    Raises:
        UsageError: what is given does not fit together.
        ConfigError: one of the files exists, or cannot be written.

    """
    _check_fit(request.answers, request.judge)
    if request.model is not None and not request.model.strip():
        raise UsageError(f"--model is empty: give a model, as {_MODEL}, or leave it out.")
    folder = request.folder
    _check_free(folder, (_CONFIG, _CASES, _JUDGE, _EVAL_SET))
    start = _started(request, asking=sys.stdin.isatty() and sys.stdout.isatty())
    files = _files(start)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open("x", encoding="utf-8", newline="") as file:
                file.write(text)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written ({error.strerror or error}): give another folder.") from error
    typer.echo(f"wrote {', '.join(str(folder / name) for name in files)}")
    typer.echo(
        f"The scripted judge runs offline; {_CONFIG} says how to ask {'yours' if start.model is None else start.model}."
    )
    typer.echo(_labels_sentence(start, folder / _CASES))
    typer.echo(f"next: judgeharness run {shlex.quote(str(folder / _CONFIG))}")


def _check_fit(answers: str | None, home: str | None) -> None:
    if home == "adk" and answers not in (None, "pass-fail"):
        raise UsageError("ADK's rubrics are passed or failed: give --answers pass-fail, or another --judge.")


def _check_free(folder: Path, names: Sequence[str]) -> None:
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder: give another one.")
    if taken := next((folder / name for name in names if (folder / name).exists()), None):
        raise ConfigError(f"{taken} exists and is not overwritten: give another folder, as judgeharness init first.")


def _started(request: InitRequest, *, asking: bool) -> _Start:
    """Return what was given, asked for, or else the defaults."""
    answers, home, model, labels = request.answers, request.judge, request.model, request.labels
    if asking and answers is None and home != "adk":
        answers = cast("_Answers", _chosen("What does your judge answer?", _ANSWERS))
    if asking and home is None:
        fitting = {name: words for name, words in _HOMES.items() if name != "adk" or answers == "pass-fail"}
        home = cast("_Home", _chosen("Where is it?", fitting))
    home = home or "none"
    if asking and model is None and home != "function":
        model = typer.prompt("Which model does it ask?", default=_MODELS.get(home, _MODEL), err=True).strip()
    if asking and labels is None:
        labels = _number("How many cases have people labelled?")
    return _Start(
        answers=answers or ("pass-fail" if home == "adk" else "two"),
        home=home,
        model=model or (None if home == "function" else _MODELS.get(home, _MODEL)),
        labels=labels or 0,
    )


def _chosen(question: str, words: Mapping[str, str]) -> str:
    """Return which of some words was chosen, by its number or itself; the first one where nothing was said."""
    known = {str(number): word for number, word in enumerate(words, start=1)} | {word: word for word in words}
    typer.echo(question, err=True)
    for number, meaning in enumerate(words.values(), start=1):
        typer.echo(f"  {number}  {meaning}", err=True)
    while (said := str(typer.prompt("number", default="1", err=True)).strip()) not in known:
        typer.echo(f"Give a number from 1 to {len(words)}.", err=True)
    return known[said]


def _number(question: str) -> int:
    while not (said := str(typer.prompt(question, default="0", err=True)).strip()).isdecimal() or len(said) > len(
        "1000000"
    ):
        typer.echo("Give a number, 0 for none.", err=True)
    return int(said)


def _files(start: _Start) -> dict[str, str]:
    """Return the text of each file by its name."""
    shape = _SHAPES[start.answers]
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([shape.columns, *shape.cases])
    files = {_CONFIG: _config(start, shape), _CASES: table.getvalue(), _JUDGE: shape.source}
    return files | ({_EVAL_SET: _eval_set(shape)} if start.home == "adk" else {})


def _eval_set(shape: _Shape) -> str:
    """Return the cases as an eval set of ADK, which has no place for gold labels."""
    cases = [
        {
            "eval_id": case_id,
            "conversation": [
                {
                    "invocation_id": case_id,
                    "user_content": {"role": "user", "parts": [{"text": asked}]},
                    "final_response": {"role": "model", "parts": [{"text": answer}]},
                }
            ],
        }
        for case_id, asked, answer, *_ in shape.cases
    ]
    return json.dumps({"eval_set_id": "first", "eval_cases": cases}, indent=2) + "\n"


def _config(start: _Start, shape: _Shape) -> str:
    scripted = ("  - name: scripted", f"    callable: {_JUDGE.removesuffix('.py')}:judge", "    model: rules-1")
    asked, cases = _judge(start, shape), f"cases: {_CASES}"
    if start.home == "adk":
        other = ["judges:", *(f"  {line}" for line in asked), f"cases: {_EVAL_SET}"]
        body = ["judges:", *scripted, cases, *_remarks(start), *(f"# {line}" for line in other)]
    else:
        body = ["judges:", *scripted, *_remarks(start), *(f"  # {line}" for line in asked), cases]
    harness = f"harness: {{preset: standard, shape: {shape.shape}}}  # 6 calls a case"
    about = [f"# The scripted judge runs offline: judgeharness run {_CONFIG}"]
    return "\n".join([*about, *body, harness, f"out: {_OUT}", *_comment(_labels_sentence(start, Path(_CASES))), ""])


def _remarks(start: _Start) -> list[str]:
    """Return what has to be done for a judge of one's own to be asked."""
    edit = "uncomment the lines below and run with --new-run"
    if start.home == "function":
        return _comment(
            f"Your judge: put my_judge.py here, with a function judge that takes the case and returns "
            f"{_SHAPES[start.answers].returns}; {edit}.",
            "  ",
        )
    install = NotInstalledError.command(_EXTRAS[start.home])
    if start.home == "adk":
        return _comment(f"ADK's judge: {install}, set the model's key, remove the five lines above, {edit}.")
    package = "" if start.home == "openevals" else " and the provider's package, as langchain-openai"
    return _comment(f"A model: {install}{package}, set the provider's key, {edit}.", "  ")


def _comment(text: str, indent: str = "") -> list[str]:
    begun = f"{indent}# "
    return textwrap.wrap(text, _COLUMNS, initial_indent=begun, subsequent_indent=begun, break_on_hyphens=False)


def _judge(start: _Start, shape: _Shape) -> list[str]:
    """Return the lines of one's own judge, as an item of a list of YAML."""
    model = {} if start.model is None else {"model": start.model}
    if start.home == "function":
        entry: dict[str, Any] = {"name": "mine", "callable": "my_judge:judge", **model}
    else:
        adapter = "langchain" if start.home == "none" else start.home
        entry = {"name": "model", "adapter": adapter, **shape.evaluators[start.home], **model}
    plain = {"name", "adapter", "evaluator"}  # words of ours; what somebody gave is quoted
    lines = [f"{key}: {value if key in plain else json.dumps(value)}" for key, value in entry.items()]
    return [f"{'  ' if place else '- '}{line}" for place, line in enumerate(lines)]


def _labels_sentence(start: _Start, cases: Path) -> str:
    """Return what to do about labels, and what as many as there are can show at best."""
    if not start.labels:
        asked = " --answers 1..10" if start.answers == "score" else ""
        line = f"judgeharness label {shlex.quote(str(cases))} --annotator YOU{asked}"
        return f"No labels of your own yet: {line} asks for them, blind to the judge."
    from judgeharness_integrations.analysis.statistics.proportions import clopper_pearson  # noqa: PLC0415 - loads SciPy
    from judgeharness_integrations.verdictlog.encoding import counted, percent  # noqa: PLC0415

    least = percent(clopper_pearson(start.labels, start.labels)[0])
    return (
        f"With {counted(start.labels, 'label')}, a judge that agrees with all of them is shown to be right in at least "
        f"{least} % of cases (exact 95 % interval); judgeharness calibrate measures yours."
    )


init = command(InitRequest, write_start)
