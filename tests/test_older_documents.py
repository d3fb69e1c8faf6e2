"""What 6166fb1 wrote is read by today's code as its users would, and gives the numbers that 6166fb1 printed.

`data/written_by_6166fb1` holds the documents, `printed/` there what that commit said of them. Today's may hold more;
what they no longer say, or say otherwise, stands beside the command with the changelog's reason.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from judgeharness_integrations import (
    AnswerCase,
    CalibrationReport,
    HarnessResult,
    JudgeHarness,
    PairwiseCase,
    read_log,
    write_log,
)
from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog import SqlLog

WRITTEN = Path(__file__).parent / "data" / "written_by_6166fb1"
OFFLINE = Path(__file__).parents[1] / "examples" / "judge_benchmark"
STUDY = Path(__file__).parents[1] / "examples" / "annotator_study" / "labels.csv"

EXACT_GATES = "gates on rates and flips look at the exact interval (Clopper and Pearson)"
UNGRADED = "cases that were not graded count against a bar on abstention"
KAPPA = "intervals of Cohen's and Fleiss' kappa and Gwet's AC1 with up to ten categories cover where a label is rare"
PLAN = "of JSON plans `goal.paired` and `goal.power` are gone, and the numbers of cases rise"
DRIFT = "the first check is tested at half of `--alpha`, later ones by the evidence of all"
FINGERPRINT = "the fingerprint of a `callable:` with a `model:`, once: calibrate it again, and begin its runs anew"
OWN_RULE = "the rule a run was asked with was fixed before its samples, also where its log is folded again"
TENENBEIN = "`corrected-rate` recommends double sampling; the delta interval is withheld where counts are below ten"
CONTROLS = "`check` prints what judges that read nothing get on the same cases, and says where a judge is not better"
REASONS = "why a property of a judge passes or fails is said in other words"
EVERY_JUDGE = "every judge of a log that decided about the labels is a candidate"
SCORE_GAPS = "score gaps stand beside `benchmark rank` where single conversations were scored"
KNOWN = "a plain function is known again by its name, its source and what it depends on"
CLUSTERS = "cases with the same attribute `cluster` are one unit of inference in `calibrate` and in panels, too"
FEW_CLUSTERS = "few clusters do not show how alike their cases are: intervals of rates are wider"
AGREEING = "interval and test of `compare` agree about 0; clusters are exchanged by other draws"
RIGHT = "`compare`, `rank` and `check` call the share of all labelled cases that is right `right_of_labelled`"
NOW = "it was measured now"
PROMPTS = "our prompts begin with what is the same for every case: every prompt hash of ours, once"

# 6166fb1's key -> today's, where a key was renamed
RENAMED: dict[str, str] = {
    "accuracy_decided": "accuracy",
    "accuracy_decided_95": "accuracy_95",
    "accuracy": "right_of_labelled",  # of `check` and `rank`
    "accuracy_ci95": "right_of_labelled_ci95",
    "accuracy_interval": "right_of_labelled_interval",
    "accuracy_cases": "labelled_cases",
}


class Read(NamedTuple):
    """A command, what 6166fb1 printed, and what differs today: a pattern of places -> why."""

    printed: str
    command: str
    changed: Mapping[str, str] = MappingProxyType({})
    code: int = 0


GATES = "--fail-under 'accuracy>=0.6' --max-abstention 0.9 --min-consistency 0.5"
CALIBRATE = "calibrate --source human"
COMPARE = "--permutations 50"
INTERVALS = {"*interval*": KAPPA, "*reason": KAPPA, "*.undefined": KAPPA}
POWER = {"criteria.0.reason": DRIFT, "criteria.0.minimum_detectable": DRIFT, "criteria.0.anchors_needed": DRIFT}
WIDER = {f"judges.*.criteria.*.{end}": FEW_CLUSTERS for end in ("low", "high")}
RUNS = ["pairs", "graded", "rubrics", "points", "careful", "unnamed", "broken_off", "broken_off_careful"]
READS = [
    *(Read(f"runs-{run}", f"runs runs/{run}") for run in [*RUNS, "broken_off_points"]),
    *(
        Read(f"report-{run}", f"report runs/{run} --no-step-summary", WIDER if run == "graded" else {})
        for run in [*RUNS, "broken_off_points"]
    ),
    Read("report-calibrated", "report runs/calibrated --no-step-summary"),
    Read("report-recorded", "report recorded.jsonl --no-step-summary"),
    Read("report-session", "report session.jsonl --no-step-summary"),
    Read(
        "gates-graded",
        f"report runs/graded --no-step-summary {GATES}",
        {f"gates.checks.*.{key}": EXACT_GATES for key in ("low", "high", "reason", "more_cases")}
        | {f"gates.checks.{place}.value": UNGRADED for place in (2, 3)}
        | WIDER,
        code=3,
    ),
    Read("replay-csv", "replay logs/pairs.csv --rule swap_consensus"),
    Read("replay-parquet", "replay logs/graded.parquet --rule majority"),
    Read("replay-jsonl-gz", "replay logs/points.jsonl.gz --rule median"),
    Read("replay-jsonl", "replay runs/graded/verdicts.jsonl --rule 'supermajority(2/3)'"),
    Read("replay-sqlite", "replay logs/several.sqlite --run tuesday --rule majority"),
    Read("replay-rubrics", "replay runs/rubrics/verdicts.sqlite --rule majority", {"rule_fixed": OWN_RULE}),
    Read(
        "compare-pairs",
        f"compare runs/pairs runs/pairs --judge-a longer --judge-b first {COMPARE}",
        {
            **dict.fromkeys(("criteria.0.beside.?.low", "criteria.0.beside.?.high"), AGREEING),
            **dict.fromkeys(("criteria.0.main.measure", "criteria.0.reason"), RIGHT),
        },
    ),
    Read(
        "compare-graded",
        f"compare runs/graded runs/graded --judge-a polite --judge-b strict {COMPARE}",
        {
            **dict.fromkeys(("criteria.0.reason", "criteria.0.p_adjusted", "criteria.0.*.p"), AGREEING),
            "criteria.0.main.measure": RIGHT,
        },
    ),
    Read("rank", "rank logs/pairs.csv --by domain", {"diagnostics.notes.*": RIGHT}),
    Read(
        "kappa",
        "agreement kappa runs/graded/verdicts.jsonl --raters polite,strict --resamples 20",
        {**INTERVALS, "cluster": CLUSTERS, "clusters": CLUSTERS},
    ),
    Read(
        "kappa-people",
        "agreement kappa labels/anna.jsonl labels/cleo.jsonl --raters anna,cleo --resamples 20",
        INTERVALS,
    ),
    Read("alt-test", f"agreement alt-test {STUDY} --humans 'annotator_*' --candidate strong,weak"),
    Read(
        "plan",
        "plan --pilot runs/graded/verdicts.jsonl --judge polite --width 0.2",
        dict.fromkeys(("goal.p*", "designs*", "fewest_cases", "labels", "cheapest*", "majority*", "notes*"), PLAN),
    ),
    Read(
        "labels",
        "label --merge labels/anna.jsonl labels/ben.jsonl labels/cleo.jsonl --cases unlabelled.csv --out again.csv",
        {"out": "another file is written here"},
    ),
    Read(
        "drift",
        f"{CALIBRATE} graded.yaml --labels answers.csv --judge polite --yes --check calibration.json",
        {**POWER, "changes": FINGERPRINT, "fingerprint": FINGERPRINT, "measured_at": NOW},
        code=3,
    ),
    Read(
        "drift-log",
        f"{CALIBRATE} --log runs/graded/verdicts.jsonl --rule majority --judge strict --check calibration_log.json",
        {**POWER, "measured_at": NOW},
        code=3,
    ),
    Read(
        "corrected-rate",
        "corrected-rate runs/graded/verdicts.jsonl --judge polite --rule majority --calibration calibration.json",
        {"estimates.*": TENENBEIN, "notes": TENENBEIN, "rule_fixed": OWN_RULE},
    ),
    Read(
        "check-log",
        "check --log checked/verdicts.jsonl",
        {"judges.0.notes": CONTROLS, "judges.0.properties.*.reason": REASONS},
    ),
    Read("audit-status", "audit bench --status"),
    Read(
        "benchmark-rank",
        "benchmark rank bench",
        {"analyses.absent.score_gaps": SCORE_GAPS, "diagnostics.notes.*": RIGHT},
    ),
    Read("benchmark-curate", "benchmark curate bench --cut 0"),
    Read("benchmark-stats", f"benchmark stats bench --models {OFFLINE / 'models.yaml'}"),
    Read("benchmark-stats-converted", "benchmark stats converted"),
    Read(
        "calibration-benchmark",
        f"{CALIBRATE} --log bench/verdicts.sqlite --run pairwise --rule swap_consensus --judge judge_strong "
        "--labels exported/held_out_cases.jsonl",
        {"measured_at": NOW, "candidates": EVERY_JUDGE, "*.low": EVERY_JUDGE, "*.high": EVERY_JUDGE},
    ),
]


def unpack(folder: Path) -> Path:
    """Write the documents as they were: what is large is kept gzipped here, and Git ignores `.adk`."""
    for path in filter(Path.is_file, WRITTEN.rglob("*")):
        parts = [".adk" if part == "dot.adk" else part for part in path.relative_to(WRITTEN).parts]
        file = folder.joinpath(*parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gz":
            file.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        if path.suffix != ".gz" or path.parent.name == "logs":
            shutil.copyfile(path, file)
    return folder


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("older"))


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The documents, in a working directory of their own whose judges can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(unpack(tmp_path))
    config = tmp_path / "careful.yaml"  # refused without: "`calibration: {labels: ...}` needs a `source`"
    config.write_text(config.read_text().replace("name: people", "name: people, source: human"))
    sys.modules.pop("older_judges", None)
    yield tmp_path
    sys.modules.pop("older_judges", None)


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[[str], Said]:
    def run(line: str) -> Said:
        capsys.readouterr()
        code = main(shlex.split(line))
        return Said(code, *capsys.readouterr())

    return run


def printed(name: str) -> Any:
    found = WRITTEN / "printed" / f"{name}.json"
    return json.loads(found.read_text() if found.exists() else gzip.decompress(Path(f"{found}.gz").read_bytes()))


def differences(then: Any, now: Any, place: str = "") -> Iterator[str]:
    """Yield the places where today's document lacks what the older one said; keys that are new are none."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key, value in then.items():
            where = f"{place}.{key}".lstrip(".")
            name = key if key in now else RENAMED.get(key, key)
            yield from differences(value, now[name], where) if name in now else [where]
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from differences(old, new, f"{place}.{number}")
    elif isinstance(then, float) and isinstance(now, int | float):
        if not math.isclose(then, now, rel_tol=1e-9, abs_tol=1e-12):
            yield place
    elif then != now:
        yield place


@pytest.mark.sampled(11)
@pytest.mark.parametrize("read", READS, ids=lambda read: read.printed)
def test_a_command_says_of_older_documents_what_it_said_then(
    read: Read, read_only: Path, command: Callable[[str], Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(read_only)
    said = command(f"{read.command} --json")
    assert said.code == read.code, said.err
    places = list(differences(printed(read.printed), said.document))
    assert [place for place in places if not any(fnmatch(place, pattern) for pattern in read.changed)] == []
    assert bool(places) == bool(read.changed)  # nothing is excused that is the same today


@pytest.mark.parametrize("form", ["html", "markdown", "junit", "csv"])
def test_older_runs_are_shown_in_every_format(
    form: str, read_only: Path, command: Callable[[str], Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(read_only)
    said = command(f"report runs/graded --no-step-summary --{form} -")
    assert said.code == 0
    if form == "csv":
        lines = list(csv.DictReader(io.StringIO(said.out)))
        assert len(lines) == 40
    else:
        assert "strict" in said.out


@pytest.mark.parametrize("name", ["pairs.csv", "graded.parquet", "points.jsonl.gz", "several.sqlite", "nightly.sqlite"])
def test_older_logs_are_read_and_written_again(name: str, read_only: Path, tmp_path: Path) -> None:
    rows = read_log(read_only / "logs" / name)
    assert len(rows) == {"pairs.csv": 64, "graded.parquet": 80, "points.jsonl.gz": 12}.get(name, len(rows)) > 8
    assert read_log(write_log(rows, tmp_path / "again.jsonl")) == rows


@pytest.mark.slow
@pytest.mark.parametrize("run", ["unnamed", "careful"])
def test_an_interrupted_run_goes_on_where_it_was_cut_off(run: str, older: Path, command: Callable[[str], Said]) -> None:
    cut = "broken_off" if run == "unnamed" else "broken_off_careful"
    before = read_log(older / "runs" / cut / "verdicts.sqlite")
    whole = json.loads((older / "runs" / run / "summary.json").read_text())
    said = command(f"run {run}.yaml --out runs/{cut} --yes --json")
    assert said.code == 0, said.err
    assert f": {printed(f'runs-{cut}')['runs'][0]['calls']} of " in " ".join(said.err.split())
    assert said.document["state"] == "complete"
    assert said.document["attempts_spent"] == whole["attempts_spent"]
    for then, now in zip(whole["judges"], said.document["judges"], strict=True):
        assert list(differences(then["criteria"], now["criteria"])) == []
    after = read_log(older / "runs" / cut / "verdicts.sqlite")
    assert after[: len(before)] == before  # nothing was asked again
    assert len(after) == len(read_log(older / "runs" / run / "verdicts.sqlite"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("run", ["unnamed", "careful", "rubrics"])
def test_a_complete_run_is_summed_up_again(run: str, older: Path, command: Callable[[str], Said]) -> None:
    """For nothing: neither attempts nor usage grow. Labels that share clusters have wider intervals: CLUSTERS."""
    whole = json.loads((older / "runs" / run / "summary.json").read_text())
    said = command(f"run {run}.yaml --out runs/{run} --yes --json")
    assert said.code == 0, said.err
    changed = (
        {"judges.*.identity": KNOWN, "judges.*.fingerprint": KNOWN}
        if run != "careful"
        else dict.fromkeys(("*.low", "*.high", "*.kappa.se", "*.clusters", "*.measured_at"), CLUSTERS)
    )
    places = list(differences(whole, said.document))
    assert [place for place in places if not any(fnmatch(place, pattern) for pattern in changed)] == []


@pytest.mark.sampled(5)
@pytest.mark.parametrize("run", ["pairs", "graded", "points", "broken_off_points", "calibrated"])
def test_runs_of_functions_with_a_model_are_begun_anew(run: str, older: Path, command: Callable[[str], Said]) -> None:
    """FINGERPRINT: what is known of such a function holds its name since then."""
    config = run.removeprefix("broken_off_")
    said = command(f"run {config}.yaml --out runs/{run} --yes")
    assert said.code == 2
    assert "identity.prompt_hash was" in said.err
    assert "learned" not in said.err
    assert "start a new run with --new-run" in said.err
    whole = json.loads((older / "runs" / config / "summary.json").read_text())
    again = command(f"run {config}.yaml --out runs/{run} --yes --new-run --json")
    assert again.code in (0, 3), again.err
    assert again.document["usage"]["reused"] == 0
    for then, now in zip(whole["judges"], again.document["judges"], strict=True):
        places = differences(then["criteria"], now["criteria"])
        assert [place for place in places if ".accuracy_decided_95." not in place] == []  # wider: CLUSTERS


@pytest.mark.slow
def test_a_new_run_takes_over_the_answers_of_an_older_one(older: Path, command: Callable[[str], Said]) -> None:
    (old,) = printed("runs-careful")["runs"]
    said = command("run careful.yaml --out runs/careful --yes --new-run --json")
    assert said.code == 0, said.err
    assert said.document["usage"]["reused"] == 24
    assert said.document["reused_from"] == {old["run"]: 24}
    assert (older / "runs" / "careful" / "verdicts.sqlite").exists()


@pytest.mark.slow
def test_programs_go_on_with_their_own_log(older: Path) -> None:
    import older_judges

    pair = PairwiseCase(case_id="pair", input="When?", output="At 9.", output_b="Thank you for asking: we open at 9.")
    answer = AnswerCase(case_id="answer", input="When?", output="Please come *at 9*, and bring **two** coins.")

    def reword(prompt: str) -> str:  # of the same name: its rewording is kept, and nobody asks again
        raise ValueError(prompt)

    with SqlLog(older / "logs" / "nightly.sqlite") as log:
        kept = len(list(log.rows(run="nightly")))
        result = JudgeHarness.standard("pairwise", log=log, run="nightly").evaluate(older_judges.longer, pair)
        assert (kept, result.verdict, len(result.rows), result.state) == (4, "B", 6, "complete")
        harness = JudgeHarness(
            perturbations=["none", "paraphrase"],
            repetitions=3,
            aggregation_rule="majority",
            rewriter=reword,
            log=log,
            run="reworded",
        )
        result = harness.evaluate(older_judges.polite, answer)
        assert (result.verdict, [row.outcome for row in result.rows]) == ("PASS", ["ok"] * 6)


@pytest.mark.parametrize("file", ["results.jsonl", "comparisons.jsonl"])
def test_results_that_programs_kept_are_rebuilt(file: str, read_only: Path) -> None:
    lines = [json.loads(line) for line in (read_only / file).read_text().splitlines()]
    documents = [line.get("result", line) for line in lines]  # the line of a LangSmith comparison is one around it
    assert len(documents) == {"results.jsonl": 6, "comparisons.jsonl": 3}[file]
    for document in documents:
        again = json.loads(json.dumps(HarnessResult.from_dict(document).to_dict(rows=True)))
        assert list(differences(document, again)) == []


@pytest.mark.parametrize("name", ["calibration", "calibration_log", "calibration_points", "calibration_python"])
def test_saved_calibrations_are_loaded_whole(name: str, read_only: Path) -> None:
    saved = read_only / f"{name}.json"
    again = json.loads(json.dumps(CalibrationReport.load(saved).to_dict()))
    assert list(differences(json.loads(saved.read_text()), again)) == []


@pytest.mark.slow
def test_an_older_calibration_expires_where_its_judge_is_identified_otherwise(
    older: Path, command: Callable[[str], Said]
) -> None:
    """FINGERPRINT; and a calibration saved earlier holds no balanced accuracy."""
    said = command("run calibrated.yaml --out runs/new --yes")
    assert said.code == 0
    assert "calibration on answers is expired: prompt changed" in said.out
    assert "measured by an earlier version, without balanced accuracy: calibrate again" in " ".join(said.out.split())
    assert (older / "runs" / "new" / "results.jsonl").exists()


def test_an_older_calibration_of_a_judge_that_says_what_it_is_holds(older: Path) -> None:
    import older_judges

    first = json.loads((older / "runs" / "careful" / "results.jsonl").read_text().splitlines()[0])
    harness = JudgeHarness(
        perturbations=["none", "format_change"],
        repetitions=2,
        aggregation_rule="majority",
        calibration=CalibrationReport.load("calibration_careful.json"),
    )
    case = AnswerCase(case_id="a0", input="When do you open? (0)", output="Thank you, we open at 1.")
    result = harness.evaluate(older_judges.careful, case)
    assert result.calibration_state.status == "valid", result.calibration_state
    assert result.fingerprint == first["fingerprint"]


@pytest.mark.usefixtures("older")
def test_people_go_on_labelling(command: Callable[[str], Said], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("p\np\np\np\n"))
    said = command("label unlabelled.csv --annotator ben --out labels/ben.jsonl --json")
    assert (said.document["labelled"], said.document["added"]) == (6, 4)
    assert command("label unlabelled.csv --from-sheet labels/dora_filled.csv --out labels/dora.jsonl").code == 0
    labels = [
        {row.case_id: row.verdict for row in read_log(f"labels/{who}.jsonl")} for who in ("cleo", "dora")
    ]  # filled in alike
    assert labels[0] == labels[1]
    assert len(labels[0]) == 6


def test_a_drift_history_grows(older: Path, command: Callable[[str], Said]) -> None:
    command(f"{CALIBRATE} --log runs/graded/verdicts.jsonl --rule majority --judge strict --check calibration_log.json")
    lines = (older / "calibration_log.history.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert lines[0] == (WRITTEN / "calibration_log.history.jsonl").read_text().strip()


@pytest.mark.slow
def test_a_benchmark_goes_on_asks_by_todays_prompts_and_leads_on(older: Path, command: Callable[[str], Said]) -> None:
    """PROMPTS: answers to older prompts stay, counted and not taken; what is finished is not written over."""
    shutil.copytree(OFFLINE, older / "models")
    models = "models/offline_models.py"
    generate = f"benchmark generate documents --generator {models}:generator --verifier {models}:verifier --n 9"
    generate += " --rounds 1-2 --models models/models.yaml --yes --json --out"
    said = command(f"{generate} broken_off_bench")
    assert said.code == 0, said.err
    assert "answers kept from before: 30" in said.err
    assert said.document["counts"] == printed("benchmark-generate")["counts"]
    refused = command(f"{generate} bench")
    assert (refused.code, "by another version" in refused.err) == (2, True)
    asked = f"benchmark judge bench --models models/models.yaml --yes --judges {models}:judge_strong"
    refused = command(asked)
    assert (refused.code, "by another version" in refused.err) == (2, True)
    added = command(f"{asked.replace('judge_strong', 'judge_good')} --json")
    assert added.code == 0, added.err
    ranked = command("benchmark rank bench --json").document
    assert {"judge_good", "judge_strong", "judge_weak"} <= {judge["judge"] for judge in ranked["judges"]}
    assert command("benchmark show bench pair-00003").code == 0
    assert command("benchmark export bench --out again").code == 0
    assert (older / "again" / "held_out.jsonl").read_text() == (older / "exported" / "held_out.jsonl").read_text()
    assert command("benchmark convert public/held_out.jsonl --out converted_again").code == 0
    assert command("benchmark discover --decided discovered/proposals.yaml --taxonomy-out types.yaml").code == 0


def test_labels_of_an_audit_are_kept(older: Path, command: Callable[[str], Said]) -> None:
    said = command("audit bench --assign anna,ben --n 4")
    assert (said.code, "bench holds labels" in said.err) == (2, True)
    assert len((older / "bench" / "audit" / "labels" / "anna.jsonl").read_text().splitlines()) == 4


@pytest.mark.slow
def test_measurements_beside_results_of_adk_are_joined(read_only: Path) -> None:
    adk = pytest.importorskip("judgeharness_adk")
    report = adk.load_results(read_only / "adk").report()
    assert report.strip() == (WRITTEN / "printed" / "adk.txt").read_text().strip()
