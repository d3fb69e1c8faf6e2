"""Configuration files: one schema, three formats, one sentence for whatever is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import (
    ConfigError,
    JudgeHarnessError,
    NotInstalledError,
    UnknownNameError,
    UsageError,
)
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.judging import config as configuration
from judgeharness_integrations.judging.adapters import Adapter, JudgeSpec
from judgeharness_integrations.judging.config import (
    build_calibration,
    build_cases,
    build_harness_options,
    build_judge,
    load_config,
)
from judgeharness_integrations.judging.config.schema import first_problem
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.testing import ScriptedJudge

YAML = """
judges:
  - name: strict
    adapter: langchain
    evaluator: pairwise_string
    model: openai:gpt-4o
    model_options: {temperature: 0.5}
  - name: own
    callable: "config_judges:always"
cases: data/cases.csv
harness:
  perturbations: [none, position_swap]
  repetitions: 3
  aggregation_rule: swap_consensus
  seed: 7
  on_unfit: skip
execution: {max_concurrency: 4, timeout_s: 30, max_attempts: 2, max_calls: 100}
calibration: saved.json
keep: hash
out: results
"""
TOML = """
cases = "data/cases.csv"
calibration = "saved.json"
keep = "hash"
out = "results"
[[judges]]
name = "strict"
adapter = "langchain"
evaluator = "pairwise_string"
model = "openai:gpt-4o"
model_options = { temperature = 0.5 }
[[judges]]
name = "own"
callable = "config_judges:always"
[harness]
perturbations = ["none", "position_swap"]
repetitions = 3
aggregation_rule = "swap_consensus"
seed = 7
on_unfit = "skip"
[execution]
max_concurrency = 4
timeout_s = 30
max_attempts = 2
max_calls = 100
"""
MINIMAL: dict[str, Any] = {
    "judges": [{"name": "j", "callable": "config_judges:always"}],
    "cases": "cases.csv",
    "harness": {"shape": "labels"},
}
JUDGES = """
from judgeharness_integrations import Rule
from judgeharness_integrations.testing import ScriptedJudge

def always(case):
    return "PASS"

def first_row(rows):
    return rows[0].verdict

own_rule = Rule("own rule", first_row)
scripted = ScriptedJudge(["PASS"], name="its own name", supports=["slot_names"])
number = 4
"""


@pytest.fixture(autouse=True)
def modules(tmp_path: Path) -> Any:
    (tmp_path / "config_judges.py").write_text(JUDGES)
    (tmp_path / "config_broken.py").write_text("raise ValueError('two\\nlines')")
    yield
    for name in ("config_judges", "config_broken"):
        sys.modules.pop(name, None)


def write(folder: Path, data: Any, name: str = "run.json") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def load(folder: Path, **changes: Any) -> configuration.Config:
    return load_config(write(folder, MINIMAL | changes))


def test_yaml_toml_and_json_mean_the_same(tmp_path: Path) -> None:
    from_yaml = load_config(write(tmp_path, YAML, "run.yaml"))
    document = from_yaml.model_dump(exclude_none=True)
    document["calibration"] = "saved.json"
    for text, name in ((TOML, "run.toml"), (document, "run.json"), (YAML, "run.YML")):
        assert load_config(write(tmp_path, text, name)).model_dump() == from_yaml.model_dump()
    assert from_yaml.judges[0].model_options == {"temperature": 0.5}
    assert from_yaml.folder == tmp_path


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert config.resolve("cases.csv") == tmp_path / "cases.csv"
    assert config.resolve("/elsewhere/cases.csv") == Path("/elsewhere/cases.csv")
    with pytest.raises(ConfigError, match=r"run\.json: 'a\\x00b' is no path: it holds a NUL character"):
        config.resolve("a\0b")


def test_environment_variables_are_not_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUT", "secret")
    assert load(tmp_path, out="$OUT/${OUT}").out == "$OUT/${OUT}"


@pytest.mark.parametrize(
    ("changes", "key", "nearest"),
    [
        ({"harness": {"repititions": 2}}, "harness.repititions", "harness.repetitions"),
        ({"jugdes": []}, "jugdes", "judges"),
        ({"judges": [{"name": "j", "adpater": "x"}]}, "judges[0].adpater", "judges[0].adapter"),
        ({"calibration": {"label": "x"}}, "calibration.label", "calibration.labels"),
        ({"harness": {"rewriter": {"modle": "x"}}}, "harness.rewriter.modle", "harness.rewriter.model"),
        ({"execution": {"timeout": 3}}, "execution.timeout", "execution.timeout_s"),
        (
            {"execution": {"prices": {"gpt-4o": {"input": 1, "output": 1, "cached": 1}}}},
            "execution.prices.gpt-4o.cached",
            "execution.prices.gpt-4o.cached_input",
        ),
        (
            {"execution": {"prices": {"m": {"input": 1, "output": 1, "tiers": {"flex": {"input": 1, "ouput": 1}}}}}},
            "execution.prices.m.tiers.flex.ouput",
            "execution.prices.m.tiers.flex.output",
        ),
    ],
)
def test_unknown_keys_name_their_place_and_the_nearest(
    tmp_path: Path, changes: dict[str, Any], key: str, nearest: str
) -> None:
    with pytest.raises(UnknownNameError) as caught:
        load(tmp_path, **changes)
    assert str(caught.value) == f"unknown key {key!r}: did you mean {nearest!r}?"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        # one of each kind of problem that a value can have
        ({"judges": []}, "judges must be a list of at least 1 entry, not an empty list."),
        (
            {"execution": {"prices": {"m": {"input": -1, "output": 1}}}},
            "execution.prices.m.input must be a number of at least 0, not -1.",
        ),
        ({"execution": {"prices": {"m": 2.5}}}, "execution.prices.m must be a mapping of keys, not 2.5."),
        ({"execution": {"prices": {"m": {"input": 1}}}}, "key 'execution.prices.m.output' is missing."),
        ({"execution": {"budget": {"cost": 0}}}, "execution.budget.cost must be a number above 0, not 0."),
        ({"judges": None}, "judges must be a list, not nothing."),
        ({"judges": {"a": 1}}, "judges must be a list, not a mapping."),
        ({"judges": ["j"]}, "judges[0] must be a mapping of keys, not 'j'."),
        ({"judges": [{"name": "", "callable": "m:f"}]}, "judges[0].name must be a text of at least 1 character"),
        ({"judges": [{"name": "j"}]}, "judges[0]: give either adapter and evaluator, or callable."),
        ({"judges": [{"name": "j", "adapter": "x"}]}, "judges[0]: an adapter needs an evaluator as well."),
        ({"judges": [{"callable": "m:f"}]}, "key 'judges[0].name' is missing."),
        ({"judges": [{"name": "j", "callable": "m:f", "model_options": {"a": 1}}]}, "go with an adapter"),
        ({"judges": [{"name": "j", "callable": "m:f"}] * 2}, "run.json: two judges are named 'j'"),
        ({"judges": [{"name": 3, "callable": "m:f"}]}, "judges[0].name must be a text, not 3."),
        ({"harness": {"preset": "quick"}}, "harness: a preset needs a shape"),
        ({"harness": {"perturbations": ["none"]}}, "harness: give repetitions, aggregation_rule, or a shape"),
        ({"harness": {"shape": "labels", "repetitions": "3"}}, "harness.repetitions must be a whole number, not '3'."),
        ({"harness": {"shape": "labels", "repetitions": 2.5}}, "harness.repetitions must be a whole number, not 2.5."),
        ({"harness": {"shape": "labels", "repetitions": True}}, "harness.repetitions must be a whole number, not True"),
        ({"harness": {"shape": "labels", "tolerance": "x"}}, "harness.tolerance must be a number, not 'x'."),
        (
            {"harness": {"shape": "labels", "perturbations": "none"}},
            "harness.perturbations must be a list, not 'none'.",
        ),
        ({"harness": {"shape": "labels", "perturbations": [1]}}, "harness.perturbations[0] must be a text, not 1."),
        (
            {"harness": {"shape": "triple"}},
            "harness.shape must be 'pairwise', 'labels', 'scores' or 'any', not 'triple'.",
        ),
        ({"harness": {"shape": "labels", "rewriter": {}}}, "key 'harness.rewriter.adapter' is missing."),
        ({"harness": None}, "harness must be a mapping of keys, not nothing."),
        ({"calibration": {}}, "calibration: give the path of a saved calibration, or labels."),
        ({"calibration": 3}, "calibration must be a mapping of keys, not 3."),
        (
            {"judges": [{"name": "j", "adapter": "x", "evaluator": "y", "model_options": "key"}]},
            "judges[0].model_options must be a mapping of keys.",
        ),
        ({"keep": "all"}, "keep must be 'text', 'hash' or 'none', not 'all'."),
        ({"cases": ["a"]}, "cases must be a text, not a list."),
        ({"cases": True}, "cases must be a text, not True."),
        ({"keep": "k" * 500}, f"not '{'k' * 78}…."),
    ],
)
def test_wrong_values_are_one_sentence_with_the_key(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, **changes)
    message = str(caught.value)
    assert sentence in message
    assert message.startswith(str(tmp_path / "run.json"))
    assert message.endswith((".", "…'."))
    assert "\n" not in message
    assert "Input should" not in message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1: x\n", "key 1 of the file must be a text."),
        ("harness: {true: x, shape: labels}\n", "of harness must be a text."),
        (
            "judges: [{name: j, adapter: x, evaluator: y, model_options: {5: secret}}]\nharness: {shape: labels}\n",
            "key 5 of judges[0].model_options must be a text.",
        ),
    ],
)
def test_keys_that_are_no_texts(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text, "run.yaml"))
    assert sentence in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_kind_of_problem_the_schema_does_not_have_is_told_in_the_words_of_pydantic() -> None:
    problem: Any = {"type": "union_tag_invalid", "loc": ("judges", 0), "msg": "No such tag", "input": {}}
    assert str(first_problem([problem], "run.yaml")) == "run.yaml: judges[0] is not valid: No such tag."


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("run.yaml", "judges: [", "is not YAML"),
        ("run.yaml", "a: 1\na: 2", "key 'a' stands twice"),
        ("run.yaml", "harness: {seed: 1, seed: 2}", "key 'seed' stands twice"),
        ("run.yaml", "? {a: 1}\n: 2", "is not YAML (a list or a mapping cannot be a key)"),
        ("run.yaml", "!!python/object/apply:os.system ['true']", "is not YAML"),
        ("run.yaml", "", "is a mapping of keys, not nothing"),
        ("run.yaml", "- 1", "is a mapping of keys, not a list"),
        ("run.yaml", "execution: {timeout_s: .nan}", "execution.timeout_s must be a finite number, not nan"),
        ("run.json", '{"judges": [{"model_options": {"x": Infinity}}]}', "judges[0].model_options.x must be a finite"),
        ("run.json", '{"a": 1, "a": 2}', "key 'a' stands twice"),
        ("run.json", "{", "is not JSON"),
        ("run.json", "[" * 100_000, "is not JSON"),
        ("run.toml", "a = 1\na = 2", "is not TOML"),
        ("run.toml", "timeout = nan", "timeout must be a finite number"),
        ("run.yaml", "judges: &all [*all]", "is not YAML (an alias stands inside of what it stands for, line 1)"),
        ("run.yaml", "2026-01-01", "is a mapping of keys, not a date"),
        ("run.ini", "", "a configuration is .yaml, .yml, .toml or .json"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text, name))
    assert sentence in str(caught.value)
    assert name in str(caught.value)


def test_missing_directory_and_binary_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "none.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "folder.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(tmp_path / "binary.yaml")


def test_yaml_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    own = '  - {name: own, callable: "config_judges:always"}'
    text = YAML.replace('  - name: own\n    callable: "config_judges:always"', own.replace("- {", "- &own {"))
    text = text.replace("cases: data", "  - {<<: *own, name: twin}\ncases: data")
    assert [judge.name for judge in load_config(write(tmp_path, text, "run.yaml")).judges] == ["strict", "own", "twin"]


def test_a_callable_is_a_judge(tmp_path: Path) -> None:
    judge = build_judge(load(tmp_path), 0)
    assert judge.identity is not None
    assert (judge.name, judge.identity.name, judge.identity.model) == ("j", "j", None)
    assert str(tmp_path) not in sys.path
    result = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority").evaluate(judge, "text")
    assert result.verdict == "PASS"


def test_a_callable_with_a_model_has_an_identity_that_changes_with_its_code(tmp_path: Path) -> None:
    judges = [{"name": "j", "callable": "config_judges:always", "model": "gpt-4o"}]
    first = build_judge(load(tmp_path, judges=judges), 0).identity
    assert first is not None
    assert (first.name, first.model, first.family) == ("j", "gpt-4o", "openai")
    sys.modules.pop("config_judges")
    (tmp_path / "config_judges.py").write_text(JUDGES + "\n# changed\n")
    second = build_judge(load(tmp_path, judges=judges), 0).identity
    assert second is not None
    assert second.prompt_hash != first.prompt_hash


def test_two_functions_of_one_module_are_two_judges(tmp_path: Path) -> None:
    (tmp_path / "config_judges.py").write_text(f"{JUDGES}\n\ndef never(case):\n    return 'FAIL'\n")
    hashes = set()
    for function in ("always", "never"):
        judges = [{"name": "j", "callable": f"config_judges:{function}", "model": "gpt-4o"}]
        identity = build_judge(load(tmp_path, judges=judges), 0).identity
        assert identity is not None
        hashes.add(identity.prompt_hash)
    assert len(hashes) == 2


def test_a_callable_without_source_has_no_identity(tmp_path: Path) -> None:
    judges = [{"name": "j", "callable": "builtins:len", "model": "gpt-4o"}]
    assert build_judge(load(tmp_path, judges=judges), 0).identity is None


def test_a_judge_object_takes_the_name_of_the_configuration(tmp_path: Path) -> None:
    judge = build_judge(load(tmp_path, judges=[{"name": "mine", "callable": "config_judges:scripted"}]), 0)
    assert judge.name == "mine"
    assert (judge.identity, judge.criteria) == (None, None)
    assert judge.supports == frozenset({"slot_names"})  # type: ignore[attr-defined]
    result = JudgeHarness(perturbations=["none"], repetitions=1, aggregation_rule="majority").evaluate(judge, "text")
    assert result.judge == "mine"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("config_judges", "is no import path, write module:function"),
        (":f", "is no import path"),
        ("config_missing:f", "module 'config_missing' cannot be imported"),
        ("config_broken:f", "module 'config_broken' cannot be imported (ValueError: two"),
        ("config_judges:nothing", "'config_judges' has no 'nothing'"),
        ("config_judges:number", "is neither a function nor a judge"),
    ],
)
def test_callables_that_cannot_be_imported(tmp_path: Path, path: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_judge(load(tmp_path, judges=[{"name": "j", "callable": path}]), 0)
    assert sentence in str(caught.value)
    assert "judges[0].callable" in str(caught.value)
    assert str(tmp_path) not in sys.path


def test_presets_and_single_keys_of_them(tmp_path: Path) -> None:
    assert build_harness_options(load(tmp_path))["repetitions"] == 3
    quick = {"preset": "quick", "shape": "pairwise", "repetitions": 2, "tolerance": 2, "instructions": ["Judge!"]}
    options = build_harness_options(load(tmp_path, harness=quick, execution={"max_concurrency": 2, "max_calls": 9}))
    assert options["perturbations"] == ("none", "position_swap")
    assert (options["repetitions"], options["tolerance"], options["instructions"]) == (2, 2.0, ["Judge!"])
    assert (options["max_concurrency"], options["keep"]) == (2, "text")
    assert "max_calls" not in options
    JudgeHarness(**options)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("supermajority(3/4)", "supermajority(3/4)"),
        ("config_judges:first_row", "config_judges:first_row"),
        ("config_judges:own_rule", "own rule"),
    ],
)
def test_rules_by_name_and_by_import_path(tmp_path: Path, spec: str, name: str) -> None:
    harness = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": spec}
    assert build_harness_options(load(tmp_path, harness=harness))["aggregation_rule"].name == name


def test_rules_that_are_none(tmp_path: Path) -> None:
    harness = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "config_judges:number"}
    with pytest.raises(ConfigError, match="is not a function of rows"):
        build_harness_options(load(tmp_path, harness=harness))


def test_cases_and_their_absence(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("case_id,output,gold\nc1,text,PASS\n")
    assert [case.case_id for case in build_cases(load(tmp_path))] == ["c1"]
    with pytest.raises(ConfigError, match="'cases' is missing"):
        build_cases(load(tmp_path, cases=None))


def test_calibrations(tmp_path: Path) -> None:
    assert build_calibration(load(tmp_path)) == {}
    (tmp_path / "labels.csv").write_text("case_id,output,gold\nc1,text,PASS\n")
    labelled = {"labels": "labels.csv", "name": "people", "source": "executable", "positive": "PASS"}
    labels = build_calibration(load(tmp_path, calibration=labelled))["calibration_set"]
    assert (labels.name, labels.source, labels.positive, len(labels.cases)) == ("people", "executable", "PASS", 1)
    report = CalibrationReport(
        name="n",
        judge="j",
        source="human",
        consensus="majority",
        excluded_ties=0,
        criteria={},
        measured_at="2026-01-01T00:00:00+00:00",
    )
    report.save(tmp_path / "saved.json")
    assert build_calibration(load(tmp_path, calibration="saved.json")) == {"calibration": report}
    with pytest.raises(ConfigError, match=r"none\.json cannot be read"):
        build_calibration(load(tmp_path, calibration={"file": "none.json"}))


class FakePoint:
    """An entry point as importlib.metadata gives it."""

    def __init__(self, name: str, loaded: Any) -> None:
        self.name, self.loaded = name, loaded

    def load(self) -> Any:
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


def install(monkeypatch: pytest.MonkeyPatch, *points: FakePoint) -> None:
    monkeypatch.setattr("judgeharness_integrations.judging.adapters.entry_points", lambda group: list(points))


def fake_adapter(build: Any, **options: Any) -> Adapter:
    return Adapter(name="fake", extras={"fake": ("json",)}, build_judge=build, **options)


ADAPTED = [{"name": "j", "adapter": "fake", "evaluator": "score", "model": "m", "evaluator_options": {"x": 1}}]


def test_an_adapter_builds_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[JudgeSpec] = []

    def build(spec: JudgeSpec) -> ScriptedJudge:
        specs.append(spec)
        return ScriptedJudge(["PASS"], name=spec.name)

    install(monkeypatch, FakePoint("fake", fake_adapter(build)))
    assert build_judge(load(tmp_path, judges=ADAPTED), 0).name == "j"
    expected = JudgeSpec(
        name="j", evaluator="score", model="m", model_options={}, evaluator_options={"x": 1}, folder=tmp_path
    )
    assert specs == [expected]


def refuse(spec: Any) -> Any:
    raise TypeError("no such\noption")


def refuse_clearly(spec: Any) -> Any:
    raise UsageError("use another evaluator.")


@pytest.mark.parametrize(
    ("loaded", "kind", "sentence"),
    [
        (fake_adapter(refuse), ConfigError, "judges[0]: judge 'j' cannot be built (TypeError: no such"),
        (fake_adapter(refuse_clearly), UsageError, "use another evaluator."),
        (ImportError("gone"), UsageError, "adapter 'fake' cannot be loaded (ImportError: gone)"),
        (
            Adapter(name="fake", extras={"fake": ("no_such_module_here",)}, build_judge=refuse),
            NotInstalledError,
            "pip install '.[fake]'",
        ),
    ],
)
def test_adapters_that_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: Any, kind: type[JudgeHarnessError], sentence: str
) -> None:
    install(monkeypatch, FakePoint("fake", loaded))
    with pytest.raises(kind) as caught:
        build_judge(load(tmp_path, judges=ADAPTED), 0)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("kind", [ValueError, UsageError])
def test_what_a_framework_says_is_told_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def refuse_the_key(*_: Any) -> Any:
        raise kind("api_key sk-12345678 is of the wrong kind, header Bearer abcdef123 as well.")

    adapter = fake_adapter(refuse_the_key, build_rewriter=refuse_the_key)
    install(monkeypatch, FakePoint("fake", adapter))
    options = {"api_key": "sk-12345678"}
    judges = [{"name": "j", "adapter": "fake", "evaluator": "e", "model_options": options}]
    rewriter = {"adapter": "fake", "model": "m", "model_options": options}
    config = load(tmp_path, judges=judges, harness={"shape": "labels", "rewriter": rewriter})
    for build in (lambda: build_judge(config, 0), lambda: build_harness_options(config)):
        with pytest.raises(UsageError, match=r"api_key \[redacted\] is of the wrong kind") as caught:
            build()
        assert "abcdef123" not in str(caught.value)


def test_unknown_adapter_names_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FakePoint("fakes", fake_adapter(refuse)))
    with pytest.raises(UnknownNameError, match="did you mean 'fakes'"):
        build_judge(load(tmp_path, judges=ADAPTED), 0)


def test_rewriters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = {"shape": "labels", "rewriter": {"adapter": "fake", "model": "m", "model_options": {"t": 1}}}
    config = load(tmp_path, harness=harness)
    install(
        monkeypatch, FakePoint("fake", fake_adapter(refuse, build_rewriter=lambda model, options: (model, options)))
    )
    assert build_harness_options(config)["rewriter"] == ("m", {"t": 1})
    install(monkeypatch, FakePoint("fake", fake_adapter(refuse)))
    with pytest.raises(ConfigError, match="has no chat models"):
        build_harness_options(config)
    install(monkeypatch, FakePoint("fake", fake_adapter(refuse, build_rewriter=lambda *_: refuse(None))))
    with pytest.raises(ConfigError, match=r"harness\.rewriter: cannot be built \(TypeError"):
        build_harness_options(config)
    install(monkeypatch, FakePoint("fake", fake_adapter(refuse, build_rewriter=lambda *_: refuse_clearly(None))))
    with pytest.raises(UsageError, match="use another evaluator"):
        build_harness_options(config)
