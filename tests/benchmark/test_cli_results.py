"""`judgeharness benchmark rank, curate, show, stats, export, convert` on folders that were judged before."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.benchmark_results import judged, make_benchmark, make_pair, verification

from judgeharness_integrations.audit.labels import assign, label_log, write_assignment
from judgeharness_integrations.benchmark.folder import Asked, BenchmarkFolder
from judgeharness_integrations.benchmark.judges import side_case
from judgeharness_integrations.benchmark.pair import Verification
from judgeharness_integrations.cli import main
from judgeharness_integrations.judging.chatmodels import Completion
from judgeharness_integrations.verdictlog.row import VerdictRow

SKILLS = {"strong": 0.9, "middling": 0.7, "weak": 0.4}


@pytest.fixture
def command(command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("COLUMNS", "120")
    return partial(command, "benchmark")


FAILED = {
    0: verification("coherence", reason="the plans conflict: \x1b[31mred\u202e"),
    1: verification("grounding", reason="turn 2 of the better conversation: 1 of 2 claims grounded"),
    2: verification("adherence", unread=True, reason="the model refused"),
}


def ask(folder: BenchmarkFolder, *, seed: int = 0, **options: Any) -> BenchmarkFolder:
    with folder.log() as log:
        log.append(judged([pair for pair in folder.pairs() if pair.state == "accepted"], seed=seed, **options))
    return folder


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark that nobody labelled; tests read it, and write what they would find anyway."""
    path = tmp_path_factory.mktemp("results") / "b"
    return ask(make_benchmark(path, n=40, failed=FAILED), skill=SKILLS).path


@pytest.fixture
def audited(tmp_path: Path) -> BenchmarkFolder:
    folder = ask(make_benchmark(tmp_path / "audited", n=40, failed=FAILED), skill=SKILLS)
    ids = [pair.pair_id for pair in folder.pairs() if pair.state == "accepted"]
    assignment = assign(ids, annotators=["ann", "ben"], n=10, overlap=0.5, suspicious=ids[-2:], seed=2)
    write_assignment(folder.path, assignment)
    for who in ("ann", "ben"):
        log = label_log(folder.path, who)
        for place, pair_id in enumerate(assignment.bundles[who]):
            log.append(pair_id, "noise" if place == 0 else "clean", "looked at it\x1b[2J")
    return folder


# rank


@pytest.mark.slow
def test_rank_finds_the_planted_order(command: Callable[..., Any], bench: Path) -> None:
    ran = command("rank", bench, "--by", "failure_type")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("first of 3 judges by Bradley-Terry: strong\n")
    assert f"\nranking of {bench}, pairwise\n" in ran.out
    assert "right about verdict, turn, type: both_orders" in ran.out
    assert "37 pairs with gold" in ran.out
    document = command("rank", bench, "--json").json
    assert [one["judge"] for one in document["judges"]] == ["strong", "middling", "weak"]
    assert document["criteria"] == ["verdict", "turn", "type"]
    lines = (bench / "judgments.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 3 * 37


@pytest.mark.slow
def test_rank_by_one_criterion_is_easier(command: Callable[..., Any], bench: Path) -> None:
    joint, alone = (
        {one["judge"]: one["right_of_labelled"] for one in command("rank", bench, "--json", *options).json["judges"]}
        for options in ((), ("--criterion", "turn"))
    )
    assert all(alone[judge] >= joint[judge] for judge in joint)
    assert alone != joint


@pytest.mark.slow
def test_rank_leaves_out_noise_where_people_found_it(command: Callable[..., Any], audited: BenchmarkFolder) -> None:
    ran = command("rank", audited.path, "--flagged", "--json")
    assert ran.json["n_flagged"] >= 1
    assert command("rank", audited.path, "--json").json["n_flagged"] == 0


def test_rank_says_what_is_missing(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    assert "nobody labelled a pair" in command("rank", bench, "--flagged").err
    assert command("rank", bench, "--by", "domian").err == "error: unknown column 'domian': did you mean 'domain'?\n"
    ran = command("rank", make_benchmark(tmp_path / "empty", n=2).path)
    assert (ran.code, ran.out) == (2, "")
    assert "was judged pairwise: ask judges with judgeharness benchmark judge." in ran.err
    assert "holds no benchmark" in command("rank", tmp_path).err


def test_rank_counts_no_pair_that_was_rejected_since(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=12), skill=SKILLS)
    pairs = folder.pairs()
    folder.write_pairs([make_pair(pairs[0].conditions, verified=verification("form")), *pairs[1:]])
    ran = command("rank", folder.path)
    assert "11 pairs with gold" in ran.out
    assert ran.out.rstrip().endswith("1 judged pair is left out: verification rejected them.")


def test_rank_says_that_all_judged_pairs_were_rejected(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=2), skill=SKILLS)
    folder.write_pairs([make_pair(pair.conditions, verified=verification("form")) for pair in folder.pairs()])
    assert "was judged pairwise but for 2 that verification rejected" in command("rank", folder.path).err


@pytest.mark.slow
def test_rank_against_the_parallel_set(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    other = ask(make_benchmark(tmp_path / "other", n=40, generator="strong"), seed=9, skill=SKILLS)
    ran = command("rank", bench, "--against", other.path)
    assert ran.code == 0
    assert "writer against strong" in ran.out
    line = next(line for line in ran.out[ran.out.index("writer against strong") :].splitlines() if "strong " in line)
    assert line.split()[-1] == "strong"
    assert "changes significant" in ran.out
    assert "self-preference of strong: " in ran.out
    # of the 40 pairs of this set 37 were judged, of the other one all
    assert "37 pairs that were judged in both sets were drawn alike; both sets" in ran.out.replace("\n", " ")
    assert "in one order alone" not in ran.out
    document = command("rank", bench, "--against", other.path, "--json").json
    assert document["analyses"]["against"][0]["judges"] == 3
    assert "nobody labelled a pair of" in command("rank", bench, "--against", other.path, "--flagged").err
    same = ask(make_benchmark(tmp_path / "same", n=40), seed=1, skill=SKILLS)
    named = command("rank", bench, "--against", same.path).out
    assert f"{bench}against{same.path}" in "".join(named.split())  # a long title is broken where the table ends


@pytest.mark.slow
def test_a_judge_of_one_order_keeps_nobody_from_being_ranked(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=30), skill={"strong": 0.9, "weak": 0.4}, orders=1)
    ask(folder, skill={"middling": 0.7})
    ran = command("rank", folder.path)
    assert "first of 3 judges by Bradley-Terry: strong" in ran.out
    said = ran.out.replace("\n", " ")
    assert "strong, weak: asked in one order alone, so that everybody is measured by the order as given" in said
    assert {one["rank"] for one in command("curate", folder.path, "--json").json["judges"]} == {1, 2, 3}
    assert "pairwise (one_order)" in command("show", folder.path, "pair-00001").out
    other = ask(make_benchmark(tmp_path / "o", n=30, generator="other"), skill=SKILLS)
    assert "strong, weak: asked in one order" in command("rank", other.path, "--against", folder.path).out
    alone = command("rank", other.path).out
    assert "both_orders" in alone
    assert "in one order alone" not in alone


@pytest.mark.slow
def test_pairs_that_one_judge_alone_answered_are_told(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=30)
    with folder.log() as log:
        log.append(judged(folder.pairs()[:20], skill=SKILLS))
        log.append(judged(folder.pairs()[20:], skill={"strong": 0.9}))
    told = "10 pairs are all right or all wrong by the answer of one judge alone"
    assert told in command("curate", folder.path).out
    assert told in command("stats", folder.path).out
    assert command("curate", folder.path, "--json").json["alone"] == 10
    assert command("stats", folder.path, "--json").json["alone"] == 10
    document = command("export", folder.path, "--out", tmp_path / "x", "--json").json
    assert document["alone"] == 10
    assert sum(one["pairs"] for one in document["files"]) == 20
    assert "10 judged by one judge alone" in command("export", folder.path, "--out", tmp_path / "y").out


def failed_calls(folder: BenchmarkFolder, judge: str, ids: list[str]) -> None:
    """Let every call of a judge about some pairs have failed."""
    rows = [row for row in judged(folder.pairs(), skill={judge: 1.0}) if row.case_id in ids]
    with folder.log() as log:
        log.append(replace(row, verdict=None, outcome="error", error="RateLimitError") for row in rows)


@pytest.mark.slow
def test_calls_that_failed_are_no_answers(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=30), skill={"strong": 0.9, "weak": 0.4})
    ids = [pair.pair_id for pair in folder.pairs()]
    with folder.log() as log:
        log.append(row for row in judged(folder.pairs(), skill={"partly": 0.6}) if row.case_id not in ids[:4])
    before = command("rank", folder.path, "--json").json
    failed_calls(folder, "partly", ids[:4])
    failed_calls(folder, "silent", ids)
    ran = command("rank", folder.path)
    assert "first of 3 judges by Bradley-Terry: strong" in ran.out
    again = "judgeharness benchmark judge asks again"
    told = (
        f"- partly: calls about 4 pairs failed and are missing; {again}\n"
        f"- silent is left out: none of its calls, about 30 pairs, was answered; {again}\n"
        "- failed calls are missing; unparsed, refused and undecided answers are wrong\n"
    )
    assert told in ran.out
    assert told in command("curate", folder.path).out
    assert told in command("export", folder.path, "--out", tmp_path / "x").out
    as_json = command("rank", folder.path, "--json")
    assert (as_json.json["judges"], as_json.err) == (before["judges"], told)
    assert {one["judge"]: one["n"] for one in before["judges"]} == {"strong": 30, "weak": 30, "partly": 26}
    named = command("rank", folder.path, "--judge", "silent", "--judge", "strong")
    assert (named.code, named.err.count("no call of silent was answered: ask it again")) == (2, 1)
    assert "are missing; undecided answers are wrong" in command("rank", folder.path, "--failures", "missing").out


def test_nobody_answered_at_all(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=4)
    failed_calls(folder, "silent", [pair.pair_id for pair in folder.pairs()])
    for name in ("rank", "curate"):
        ran = command(name, folder.path)
        assert (ran.code, f"no call of silent about {folder.path} was answered" in ran.err) == (2, True)


@pytest.mark.slow
def test_rank_counts_calls_and_not_what_they_were_asked(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=20), skill={"strong": 0.9, "weak": 0.4})
    unread = [
        replace(row, verdict=None, outcome="unparsed") if row.case_id == "pair-00001" and not row.swapped else row
        for row in judged(folder.pairs(), skill={"sloppy": 0.7})
    ]
    with folder.log() as log:
        log.append(unread)
    assert "1 of 120 answers failed (1 unparsed)" in command("rank", folder.path, "--all").out  # of three
    found = {one["judge"]: one for one in command("rank", folder.path, "--json").json["judges"]}
    assert (found["sloppy"]["failed"], found["sloppy"]["unparsed"], found["strong"]["failed"]) == (1, 1, 0)


@pytest.mark.slow
def test_a_rule_of_its_own_is_chosen_after_the_samples(command: Callable[..., Any], bench: Path) -> None:
    assert "rule chosen before the samples" in command("rank", bench).out.replace("\n  ", " ")
    ran = command("rank", bench, "--rule", "one_order")
    assert "one_order (right in the order as given)" in ran.out
    assert "rule chosen after the samples: exploratory" in ran.out.replace("\n  ", " ")
    assert command("rank", bench, "--rule", "one_odrer").code == 2


@pytest.mark.slow
def test_rank_takes_prices_from_the_file_of_models(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    models, facts = tmp_path / "models.yaml", tmp_path / "facts.csv"
    models.write_text("prices:\n  strong: {input: 1, output: 10}\n  weak: {input: 2, output: 0}\n", "utf-8")
    facts.write_text("judge,input_price,output_price,family\nweak,4,0,w\n", "utf-8")
    assert "money (tokens" not in command("rank", bench, "--models", models).out
    document = command("rank", bench, "--models", models, "--judges-info", facts, "--json").json
    cost = {one["judge"]: one["cost"] for one in document["judges"]}
    assert cost == {"strong": pytest.approx(600e-6), "weak": pytest.approx(800e-6), "middling": None}


def test_a_lone_order_by_accuracy_is_not_called_bradley_terry(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=20), skill={"sharp": 1.0, "blunt": 0.0})
    ran = command("rank", folder.path)
    assert "first of 2 judges by labelled cases judged right, since none has a rating: sharp" in ran.out


@pytest.mark.slow
def test_rank_flagged_needs_labels_of_both_sets(
    command: Callable[..., Any], audited: BenchmarkFolder, bench: Path
) -> None:
    ran = command("rank", audited.path, "--against", bench, "--flagged")
    assert (ran.code, f"nobody labelled a pair of {bench}" in ran.err) == (2, True)


def single(folder: BenchmarkFolder) -> list[VerdictRow]:
    """Scores that single conversations would have got from judges as skilled as the others."""
    documents = {document.document_id: document for document in folder.documents()}
    rows = []
    about = {
        (row.judge, row.case_id): row for row in judged(folder.pairs(), skill=SKILLS) if row.criterion == "verdict"
    }
    for pair in folder.pairs():
        for side in "AB":
            case = side_case(pair, side, documents=documents)
            for judge in SKILLS:
                chosen = about[judge, pair.pair_id].verdict == side
                flawed = not chosen
                turn = f"turn {pair.conditions.flawed_round}" if flawed else "none"
                said = {
                    "score": 4 if chosen else 2,
                    "flawed": "flawed" if flawed else "sound",
                    "turn": turn,
                    "type": pair.conditions.failure_type if flawed else "none",
                }
                rows += [
                    VerdictRow(
                        run="pointwise",
                        case_id=case.case_id,
                        judge=judge,
                        criterion=name,
                        verdict=verdict,
                        attributes=dict(case.attributes),
                        call_id=f"{judge}{case.case_id}",
                    )
                    for name, verdict in said.items()
                ]
    return rows


def right_by_score(folder: BenchmarkFolder, judge: str) -> int:
    """Pairs whose better side got the higher score in `single`."""
    rows = judged(folder.pairs(), skill=SKILLS)
    about = {row.case_id: row.verdict for row in rows if row.criterion == "verdict" and row.judge == judge}
    return sum(about[pair.pair_id] == pair.conditions.better for pair in folder.pairs())


@pytest.mark.slow
def test_single_conversations_rank_too_and_stand_beside_pairs(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=30)
    with folder.log() as log:
        log.append(single(folder))
    alone = command("rank", folder.path)
    assert alone.out.startswith("first of 3 judges by Bradley-Terry: strong\n")
    assert f"\nranking of {folder.path}, pointwise\n" in alone.out
    assert "it was judged pointwise: give --mode pointwise" in command("curate", folder.path, "--mode", "pairwise").err
    ask(folder, skill=SKILLS)
    ran = command("rank", folder.path)
    assert f"\nranking of {folder.path}, pairwise\n" in ran.out
    assert "pairwise against pointwise" in ran.out
    gaps = command("rank", folder.path, "--json").json["analyses"]["score_gaps"]
    assert {one["judge"] for one in gaps} == {*SKILLS}
    of_strong = next(one for one in gaps if one["judge"] == "strong")
    assert (of_strong["pairs"], of_strong["criterion"]) == (30, "score")
    right = right_by_score(folder, "strong")
    assert of_strong["right"] == right
    assert of_strong["mean"] == pytest.approx(2 * (2 * right - 30) / 30)  # the better side has 4 points, or 2
    assert "scores of single answers: the better minus the worse, in points" in ran.out
    only = command("rank", folder.path, "--judge", "strong", "--judge", "weak", "--json").json["analyses"]["score_gaps"]
    assert [one["judge"] for one in only] == ["strong", "weak"]
    modes = [json.loads(line)["mode"] for line in (folder.path / "judgments.jsonl").read_text("utf-8").splitlines()]
    assert modes == ["pairwise"] * 90 + ["pointwise"] * 90
    assert "judge, pointwise" in command("stats", folder.path).out


@pytest.mark.slow
def test_rank_writes_tables_where_they_are_wished_for(
    command: Callable[..., Any], audited: BenchmarkFolder, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    assert command("rank", audited.path, "--out", tmp_path / "out", "--draws", "2").code == 0
    assert {"leaderboard.csv", "pairs.csv"} <= {path.name for path in (tmp_path / "out").iterdir()}
    document = json.loads((tmp_path / "out" / "rank.json").read_text("utf-8"))
    assert {one["label"] for one in document["analyses"]["audit"]} <= {"clean", "noise", "ambiguous"}


# curate


@pytest.mark.slow
def test_curate_keeps_what_tells_judges_apart(command: Callable[..., Any], bench: Path) -> None:
    ran = command("curate", bench, "--cut", "0")
    assert (ran.code, ran.err) == (0, "")
    document = command("curate", bench, "--cut", "0", "--json").json
    kept = [json.loads(line) for line in (bench / "curated.jsonl").read_text("utf-8").splitlines()]
    assert document["kept"] == len(kept) < document["judged"] == 37
    assert document["pairs"] == 38
    assert f"{len(kept)} of 37 judged pairs kept; 1 more were never judged" in ran.out
    assert {line["schema"] for line in kept} == {"judgeharness.benchmark_pair/1"}
    assert [line["conditions"]["number"] for line in kept] == sorted(line["conditions"]["number"] for line in kept)
    assert "noise: nobody labelled a pair" in ran.out
    assert "the cut of 5 % takes no pair" in command("curate", bench).out


@pytest.mark.slow
def test_ties_at_the_cut_are_kept_or_cut_by_one_option_everywhere(command: Callable[..., Any], bench: Path) -> None:
    kept, cut = (command("curate", bench, "--cut-ties", ties, "--json").json for ties in ("keep", "cut"))
    assert (kept["cut_ties"], kept["steps"][0]["hardest"]) == ("keep", 0)
    assert (cut["cut_ties"], cut["steps"][0]["hardest"]) == ("cut", kept["kept"] - cut["kept"])
    assert cut["kept"] < kept["kept"]
    for ties, of in (("keep", kept), ("cut", cut)):
        stats = command("stats", bench, "--cut-ties", ties, "--json").json
        assert stats["steps"][0] == of["steps"][0]
        rank = command("rank", bench, "--cut", "0.05", "--cut-ties", ties, "--json").json
        assert (rank["cut_ties"], rank["n_pairs"]) == (ties, of["kept"])
    for name in ("curate", "stats", "rank"):
        ran = command(name, bench, "--cut-ties", "both")
        assert (ran.code, "unknown policy for ties at the cut 'both'" in ran.err) == (2, True)


@pytest.mark.slow
def test_curate_leaves_out_noise_unless_it_is_kept(command: Callable[..., Any], audited: BenchmarkFolder) -> None:
    plain = command("curate", audited.path, "--cut", "0", "--json").json
    kept = command("curate", audited.path, "--cut", "0", "--keep-noise", "--json").json
    assert plain["steps"][0]["flagged"] >= 1
    assert kept["steps"][0]["flagged"] == 0
    assert (plain["audited"], plain["keeps_noise"], kept["keeps_noise"]) == (True, False, True)
    assert "noise: kept, as --keep-noise asks" in command("curate", audited.path, "--keep-noise").out


@pytest.mark.slow
def test_curate_names_what_it_leaves_out_as_ambiguous(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=30), skill=SKILLS)
    ids = [pair.pair_id for pair in folder.pairs()]
    said = {"ann": ["noise", "ambiguous", "clean", "clean"], "ben": ["noise", "ambiguous", "noise", "clean"]}
    for who, labels in said.items():
        log = label_log(folder.path, who)
        for pair_id, label in zip(ids, labels, strict=False):
            log.append(pair_id, label)
    plain = command("curate", folder.path, "--cut", "0")
    assert f"- left out as noise, 1: {ids[0]}" in plain.out
    assert "- ambiguous pairs are kept: --drop ambiguous leaves them out" in plain.out
    ran = command("curate", folder.path, "--cut", "0", "--drop", "ambiguous")
    assert (ran.code, ran.err) == (0, "")
    assert f"- left out as ambiguous, 2: {ids[1]}, {ids[2]} (evenly split)" in ran.out
    document = command("curate", folder.path, "--drop", "noise", "--drop", "ambiguous", "--json").json
    assert (document["drops_ambiguous"], document["steps"][0]["flagged"], document["steps"][0]["ambiguous"]) == (
        True,
        1,
        2,
    )
    assert document["dropped"] == [
        {"pair": ids[0], "found": "noise", "divided": False},
        {"pair": ids[1], "found": "ambiguous", "divided": False},
        {"pair": ids[2], "found": "ambiguous", "divided": True},
    ]
    kept = [json.loads(line) for line in (folder.path / "curated.jsonl").read_text("utf-8").splitlines()]
    assert not {*ids[:3]} & {one["conditions"]["pair_id"] for one in kept}
    noisy = command("curate", folder.path, "--keep-noise", "--drop", "ambiguous", "--json").json
    assert {one["found"] for one in noisy["dropped"]} == {"ambiguous"}
    cascade = command("stats", folder.path).out
    assert "no noise" in cascade


@pytest.mark.slow
def test_what_cannot_be_dropped_is_refused(command: Callable[..., Any], bench: Path, audited: BenchmarkFolder) -> None:
    nobody = command("curate", bench, "--drop", "ambiguous")
    assert (nobody.code, f"nobody labelled a pair of {bench}: label some with judgeharness audit" in nobody.err) == (
        2,
        True,
    )
    both = command("curate", audited.path, "--drop", "noise", "--keep-noise")
    assert (both.code, "--drop noise and --keep-noise contradict each other" in both.err) == (2, True)
    assert (
        "unknown finding to drop 'ambigous': did you mean 'ambiguous'?"
        in command("curate", audited.path, "--drop", "ambigous").err
    )


@pytest.mark.slow
def test_what_is_kept_is_a_sample_to_rank_and_judge_by(
    command: Callable[..., Any], bench: Path, tmp_path: Path
) -> None:
    kept = bench / "curated.jsonl"
    ran = command("curate", bench)
    assert f"next: judgeharness benchmark rank {bench} --sample {kept}" in ran.out
    assert f"or: judgeharness benchmark judge {bench} --sample {kept} --judges MODEL,..." in ran.out
    ids = [json.loads(line)["conditions"]["pair_id"] for line in kept.read_text("utf-8").splitlines()]
    before = (bench / "judgments.jsonl").read_bytes()
    ran = command("rank", bench, "--sample", kept)
    assert (ran.code, ran.err) == (0, "")
    assert f"ranking of {bench}, pairwise, pairs of curated.jsonl" in ran.out
    assert (bench / "judgments.jsonl").read_bytes() == before
    assert command("rank", bench, "--sample", kept, "--json").json["n_pairs_total"] == len(ids)
    one = tmp_path / "one.jsonl"
    one.write_text('{"id": "pair-00009"}\n')
    assert command("rank", bench, "--sample", one, "--json").json["n_pairs_total"] == 1
    one.write_text('{"id": "pair-00099"}\n')
    ran = command("rank", bench, "--sample", one)
    assert (ran.code, ran.err) == (
        2,
        f"error: {bench} has no pair 'pair-00099': give a sample of this benchmark's pairs.\n",
    )


@pytest.mark.slow
def test_a_sample_limits_the_parallel_set_too(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    other = ask(make_benchmark(tmp_path / "other", n=40, generator="second"), seed=1, skill=SKILLS)
    some = tmp_path / "some.jsonl"
    ids = [pair.pair_id for pair in BenchmarkFolder(bench).pairs() if pair.state == "accepted"][:20]
    some.write_text("".join(json.dumps({"id": name}) + "\n" for name in ids))
    ran = command("rank", bench, "--against", other.path, "--sample", some)
    assert (ran.code, ran.err) == (0, "")
    assert "20 pairs that were judged in both sets were drawn alike" in " ".join(ran.out.split())


@pytest.mark.slow
def test_columns_are_named_with_commas_or_one_by_one_everywhere(command: Callable[..., Any], bench: Path) -> None:
    for name, *options in (("curate",), ("stats",), ("rank",), ("sample", "--n", "9", "--out", bench / "some.json")):
        both = command(name, bench, *options, "--by", "domain,n_rounds", "--json")
        apart = command(name, bench, *options, "--by", "domain", "--by", "n_rounds", "--json")
        assert (both.code, apart.code) == (0, 0)
        assert both.json == apart.json != command(name, bench, *options, "--by", "domain", "--json").json


@pytest.mark.slow
def test_curate_refuses_what_it_does_not_know(command: Callable[..., Any], bench: Path) -> None:
    assert "unknown column 'domains': did you mean 'domain'?" in command("curate", bench, "--by", "domains").err
    assert "unknown failures policy 'missin'" in command("curate", bench, "--failures", "missin").err
    assert command("curate", bench, "--cut", "1.5").code == 2


# show


@pytest.mark.slow
def test_show_tells_everything_about_a_pair(command: Callable[..., Any], audited: BenchmarkFolder) -> None:
    pair = audited.pair(next(iter(label_log(audited.path, "ann").labels())))
    ran = command("show", audited.path, pair.pair_id)
    assert (ran.code, ran.err) == (0, "")
    assert f"{pair.pair_id}: accepted, written by writer" in ran.out
    gold = next(line for line in ran.out.splitlines() if line.startswith("gold"))
    assert gold.split()[1:] == [
        *(pair.conditions.better, "turn", str(pair.conditions.flawed_round), pair.conditions.failure_type)
    ]
    assert "their answers, one by one" in ran.out
    assert ran.out.count("position_swap") == 3
    assert "undecided" in ran.out
    assert "ann: " in ran.out
    assert "\x1b" not in ran.out
    full = command("show", audited.path, pair.pair_id, "--full").out
    assert "Assistant (flawed): " in full
    assert full.count("[Round 1] User: ") == 2
    assert "what they wrote" in full


def test_show_of_a_rejected_pair_gives_the_reason_safely(command: Callable[..., Any], bench: Path) -> None:
    ran = command("show", bench, "pair-00001")
    assert "the plans conflict: [31mred" in ran.out
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "no judge was asked, or none counts: rejected pairs are left out" in ran.out


@pytest.mark.parametrize("name", ["3", "pair-3", "00003", "pair-00003"])
def test_show_takes_the_number_of_a_pair(command: Callable[..., Any], bench: Path, name: str) -> None:
    assert command("show", bench, name).out.startswith("pair-00003: unverified")


@pytest.mark.slow
def test_show_tells_which_pairs_there_are(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    for name in ("pair-99", "99", "nothing like it", "pair-99999999999"):
        ran = command("show", bench, name)
        assert (ran.code, ran.err) == (
            2,
            f"error: unknown pair {name!r}: there are 40, 'pair-00001' to 'pair-00040'.\n",
        )
    assert "did you mean 'pair-00007'?" in command("show", bench, "pairs-00007").err
    empty = make_benchmark(tmp_path / "empty", n=0)
    assert "unknown pair '1': no pair is written yet" in command("show", empty.path, 1).err


def test_show_tells_failed_answers_and_orders_that_disagree(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=2)
    rows = []
    for row in judged(folder.pairs(), skill={"one": 1.0}):
        if row.case_id == "pair-00001" and row.criterion == "turn" and row.swapped:
            rows.append(replace(row, verdict="turn 99"))
        elif row.case_id == "pair-00001" and row.criterion == "type":
            rows.append(replace(row, verdict=None, outcome="refused", error="not today"))
        elif row.case_id == "pair-00001" or (row.criterion != "turn" and not row.swapped):
            rows.append(row)
    with folder.log() as log:
        log.append(rows)
    out = command("show", folder.path, "pair-00001", "--full").out
    assert "abstained" in out
    assert "refused" in out
    assert "failed: not today" in out
    assert "not asked" in command("show", folder.path, "pair-00002").out


def test_show_of_what_was_never_written_or_verified(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=2)
    pairs = folder.pairs()
    bare = pairs[0].model_copy(update={"blueprints": None, "conversations": None, "verification": Verification()})
    folder.write_pairs([bare, pairs[1]])
    out = command("show", folder.path, "pair-00001", "--full").out
    assert "not verified: judgeharness benchmark verify does" in out
    assert "no conversations were written" in out
    assert "no judge was asked" in out


# stats


@pytest.mark.slow
def test_stats_follow_the_pairs_from_the_plan_to_what_is_kept(command: Callable[..., Any], bench: Path) -> None:
    ran = command("stats", bench)
    assert (ran.code, ran.err) == (0, "")
    assert "37 of 40 planned pairs accepted, 37 judged" in ran.out
    assert "controls, right over all labelled cases (37): always " in ran.out
    assert "the plans conflict" in ran.out
    assert "turn 2 of the better conversation: 1 of 2 claims grounded" in " ".join(ran.out.split())
    assert "unread: no answer of the verifier could be read" in ran.out
    assert "\x1b" not in ran.out
    document = command("stats", bench, "--by", "domain", "--json").json
    whole = document["flow"][0]
    assert (whole["planned"], whole["coherence"], whole["grounding"], whole["unread"], whole["accepted"]) == (
        40,
        1,
        1,
        1,
        37,
    )
    assert document["steps"][0]["judged"] == 37
    assert document["judges"] == ["middling", "strong", "weak"]
    assert document["total_cost"] is None
    assert document["audited"] is None


@pytest.mark.slow
def test_stats_sum_the_cost_of_every_step(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=4), skill=SKILLS)
    with folder.journal() as journal:
        asked = Asked(item="pair-00001", step="blueprints", model=json.dumps(["writer", {}]), prompt="p", attempt=0)
        journal.add(asked, Completion(text="{}", input_tokens=1_000_000, output_tokens=10), tries=2)
    prices = tmp_path / "models.yaml"
    prices.write_text("prices: {'*': {input: 1, output: 0}}")
    document = command("stats", folder.path, "--models", prices, "--json").json
    assert [(one["step"], one["model"]) for one in document["costs"]] == [
        ("blueprints", "writer"),
        *(("judge, pairwise", judge) for judge in ("middling", "strong", "weak")),
    ]
    assert document["costs"][0]["attempts"] == 2
    assert document["total_cost"] == pytest.approx(1 + 3 * 4 * 2 * 100 / 1e6)
    assert "money in all: 1.0024" in command("stats", folder.path, "--models", prices).out


@pytest.mark.slow
def test_stats_tell_what_people_found(command: Callable[..., Any], audited: BenchmarkFolder) -> None:
    out = command("stats", audited.path, "--by", "domain").out
    assert "labelled by ann, ben" in out
    assert "of the uniform sample), 95 % " in out
    assert "- ann and ben agree on " in out
    (audited.path / "audit" / "assignment.json").unlink()
    assert "noise rate: not measured" in command("stats", audited.path).out


def test_stats_before_anybody_was_asked(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=4)
    pairs = [make_pair(pair.conditions, verified=Verification()) for pair in folder.pairs()]
    folder.write_pairs(pairs[:3])
    out = command("stats", folder.path).out
    assert "0 of 4 planned pairs accepted, 0 judged" in out
    assert "written" in out
    assert "unverified: nobody checked them" in out
    assert "nobody was asked: judgeharness benchmark judge asks judges" in out


@pytest.mark.slow
def test_stats_of_one_judge_say_that_nothing_can_be_cut(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = ask(make_benchmark(tmp_path / "b", n=4), skill={"alone": 0.5})
    assert "none is cut as the hardest: pairs cannot be cut by difficulty" in command("stats", folder.path).out


# export


@pytest.mark.slow
def test_export_writes_bands_and_says_what_it_is(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    ran = command("export", bench, "--out", tmp_path / "x", "--bands", "2")
    assert (ran.code, ran.err) == (0, "")
    assert "nothing is held out: nobody labelled a pair" in ran.out
    assert "Training judges is out of the scope" in ran.out.replace("\n", " ")
    told = json.loads((tmp_path / "x" / "export.json").read_text("utf-8"))
    counts = {path.stem: len(path.read_text("utf-8").splitlines()) for path in (tmp_path / "x").glob("*.jsonl")}
    assert {one["name"]: one["pairs"] for one in told["files"]} == counts
    assert sum(counts.values()) + told["unjudged"] == told["pairs"] == 38
    assert (told["judges"], told["rule"], told["seed"]) == (["middling", "strong", "weak"], "both_orders", 3)
    again = command("export", bench, "--out", tmp_path / "y", "--bands", "2", "--json")
    assert again.json == told
    for path in (tmp_path / "x").iterdir():
        assert path.read_bytes() == (tmp_path / "y" / path.name).read_bytes()


@pytest.mark.slow
def test_export_holds_out_what_people_found_to_be_clean(
    command: Callable[..., Any], audited: BenchmarkFolder, tmp_path: Path
) -> None:
    ran = command("export", audited.path, "--out", tmp_path / "x")
    assert "held_out_cases.jsonl: the held-out pairs with gold" in ran.out
    assert "noise by audit" in ran.out
    held = ids_in(tmp_path / "x" / "held_out.jsonl")
    rest = [path for path in (tmp_path / "x").glob("*.jsonl") if not path.stem.startswith("held_out")]
    assert held
    assert not held & {pair_id for path in rest for pair_id in ids_in(path)}


def ids_in(path: Path) -> set[str]:
    return {json.loads(line)["conditions"]["pair_id"] for line in path.read_text("utf-8").splitlines()}


@pytest.mark.slow
def test_held_out_cases_calibrate_a_judge(
    command: Callable[..., Any], audited: BenchmarkFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("export", audited.path, "--out", tmp_path / "x")
    cases = tmp_path / "x" / "held_out_cases.jsonl"
    capsys.readouterr()
    log = ("--log", str(audited.verdicts), "--labels", str(cases), "--judge", "strong", "--rule", "swap_consensus")
    assert main(["calibrate", "--source", "human", *log, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    held = len(cases.read_text("utf-8").splitlines())
    assert {name: one["n"] for name, one in found["criteria"].items()} == {"verdict": held}
    (tmp_path / "held_out_judges.py").write_text("def first(case):\n    return 'A'\n")
    config = {
        "judges": [{"name": "first", "callable": "held_out_judges:first"}],
        "cases": str(cases),
        "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"},
    }
    (tmp_path / "run.json").write_text(json.dumps(config))
    asked = (
        "calibrate",
        "--source",
        "human",
        str(tmp_path / "run.json"),
        "--labels",
        str(cases),
        "--out",
        str(tmp_path / "cal.json"),
        "--yes",
    )
    assert main(asked) == 0, capsys.readouterr().err
    measured = json.loads((tmp_path / "cal.json").read_text("utf-8"))["criteria"]["verdict"]
    assert measured["n"] == held


@pytest.mark.slow
def test_export_refuses_places_and_names_it_cannot_use(
    command: Callable[..., Any], bench: Path, tmp_path: Path
) -> None:
    assert "--out is the benchmark's own folder" in command("export", bench, "--out", bench).err
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "band_1_of_9.jsonl").write_text("")
    assert "is not empty" in command("export", bench, "--out", tmp_path / "full").err
    assert command("export", bench, "--out", tmp_path / "full", "--overwrite").code == 0
    assert not (tmp_path / "full" / "band_1_of_9.jsonl").exists()
    assert "unknown format 'rank'" in command("export", bench, "--out", tmp_path / "n", "--format", "rank").err
    assert "--bands must be at least 1" in command("export", bench, "--out", tmp_path / "n", "--bands", "0").err


def test_export_before_anybody_was_asked(command: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=3)
    ran = command("export", folder.path, "--out", tmp_path / "x")
    assert ran.code == 0
    assert "in no file: 3 never judged" in ran.out


# convert


@pytest.mark.slow
def test_an_export_in_public_names_comes_back(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    command("export", bench, "--out", tmp_path / "x", "--format", "rankjudge", "--bands", "1")
    ran = command("convert", tmp_path / "x" / "band_1_of_1.jsonl", "--out", tmp_path / "back")
    assert (ran.code, ran.err) == (0, "")
    assert "all unverified" in ran.out
    back = BenchmarkFolder(tmp_path / "back")
    known = {pair.pair_id: pair for pair in BenchmarkFolder(bench).pairs()}
    assert back.settings().imported_from == "band_1_of_1.jsonl"
    assert back.settings().generator == "writer"
    for pair in back.pairs():
        assert pair.conversations == known[pair.pair_id].conversations
        assert pair.conditions.better == known[pair.pair_id].conditions.better
        assert pair.state == "unverified"
    assert f"benchmark of {back.path}: converted from band_1_of_1.jsonl" in command("stats", back.path).out
    again = command("convert", tmp_path / "x" / "band_1_of_1.jsonl", "--out", tmp_path / "back")
    assert (again.code, "is not empty" in again.err) == (2, True)
    ask_imported(back)
    assert command("rank", back.path).code == 0


@pytest.mark.slow
def test_the_bands_of_an_export_become_one_benchmark(command: Callable[..., Any], bench: Path, tmp_path: Path) -> None:
    command("export", bench, "--out", tmp_path / "x", "--format", "rankjudge")
    files = sorted(file for file in (tmp_path / "x").glob("*.jsonl"))
    ran = command("convert", *files, "--out", tmp_path / "back")
    assert (ran.code, ran.err) == (0, "")
    back = BenchmarkFolder(tmp_path / "back")
    lines = [json.loads(line)["id"] for file in files for line in file.read_text("utf-8").splitlines()]
    assert [pair.pair_id for pair in back.pairs()] == lines
    assert sum(bool(file.read_text("utf-8")) for file in files) > 1
    assert str(back.settings().imported_from).startswith("band_1_of_3.jsonl, band_2_of_3.jsonl")
    full = next(file for file in files if file.read_text("utf-8"))
    twice = command("convert", full, full, "--out", tmp_path / "twice")
    place = f"{full}, line 1"
    assert (twice.code, twice.err) == (
        2,
        f"error: {place}: repeats the id {lines[0]!r} of {place}: give each pair one of its own.\n",
    )


def ask_imported(folder: BenchmarkFolder) -> None:
    with folder.log() as log:
        log.append(judged(folder.pairs(), skill=SKILLS))


def test_convert_tells_what_it_added_and_left_out(command: Callable[..., Any], tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    facts = {"user_behavior_type": "sleepy", "assistant_behavior_type": "evasion", "n_rounds": 1, "bad_round_index": 1}
    entry = {"id": "x", "domain": "d", "convo_a": talk, "convo_b": talk, "better_is_a": True, "metadata": facts}
    file = tmp_path / "public.jsonl"
    entries = [entry | {"score": 1}, entry | {"id": "y", "generator": "z"}]
    file.write_text("\n".join(map(json.dumps, entries)))
    ran = command("convert", file, "--out", tmp_path / "out")
    assert "added to the taxonomy without a definition: sleepy" in ran.out
    assert "keys that have no place here: score" in ran.out
    assert BenchmarkFolder(tmp_path / "out").settings().generator is None
    file.write_text("{}")
    ran = command("convert", file, "--out", tmp_path / "other")
    assert (ran.code, ran.err) == (2, f"error: {file}, line 1: 'metadata' is missing.\n")
    assert not (tmp_path / "other").exists()


def test_converted_pairs_whose_plans_are_texts_can_be_verified(command: Callable[..., Any], tmp_path: Path) -> None:
    entry = {
        "id": "x1",
        "domain": "loans",
        **{f"convo_{side}": [{"user": f"Hours, {side}?", "assistant": f"At 8, {side}."}] for side in "ab"},
        "better_is_a": True,
        "plan": {"good": "say when it opens", "bad": "evade"},
        "metadata": {
            "user_behavior_type": "Focused",
            "assistant_behavior_type": "evasion",
            "n_rounds": 1,
            "bad_round_index": 1,
            "context": "It opens at 8.",
        },
    }
    (tmp_path / "public.jsonl").write_text(json.dumps(entry), encoding="utf-8")
    ran = command("convert", tmp_path / "public.jsonl", "--out", tmp_path / "c")
    assert "taken as names of the taxonomy: Focused for focused" in ran.out
    (tmp_path / "checker.py").write_text(VERIFIER, encoding="utf-8")
    ran = command("verify", tmp_path / "c", "--verifier", f"{tmp_path / 'checker.py'}:ask", "--yes")
    assert ran.code == 0, ran.err
    (pair,) = BenchmarkFolder(tmp_path / "c").pairs()
    assert [layer.status for layer in pair.verification.layers] == ["passed", "not_run", "passed", "passed"]
    assert pair.state == "unverified"


VERIFIER = """
def ask(prompt):
    if prompt.step == "adherence":
        return {"worse_flaws": [{"round": 1, "type": "evasion", "what": "it evades"}], "better_flaws": [],
                "announced": False, "announcement": "", "behaviour_kept_better": True, "behaviour_kept_worse": True,
                "behaviour_reason": "", "same_pressure": True, "same_tone_and_length": True, "reason": "as declared"}
    if prompt.step == "claims":
        return {"claims": [{"round": 1, "claim": "It opens at 8."}] if "At 8, a." in prompt.user else []}
    assert prompt.step == "grounding", prompt.step
    return {"decisions": [{"claim_id": "1.1", "grounded": True, "chunk": None, "evidence": "opens at 8", "reason": ""}]}
"""
