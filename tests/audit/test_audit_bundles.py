"""Who was assigned pairs labels them blind to judges; who was assigned none has nothing due and may label anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from support import audit_scenes

from judgeharness_integrations.audit.app import form_token
from judgeharness_integrations.audit.labels import Assignment, label_log, read_results, write_assignment
from judgeharness_integrations.audit.pages import VIEW_NAMES
from judgeharness_integrations.audit.pairs import ASSIGNED, JOINT, STRONG_MISS, PairSource
from judgeharness_integrations.benchmark.folder import PAIRS, BenchmarkFolder
from judgeharness_integrations.benchmark.verdicts import read_table

if TYPE_CHECKING:
    from pathlib import Path

JUDGES = ("strong", "middling", "weak", "shaky")
SHARED_OUT = Assignment(
    seed=0,
    pool=9,
    overlap=0.0,
    uniform=("pair-00001", "pair-00002"),
    shared=(),
    suspicious=("pair-00005",),
    bundles={"anna": ("pair-00005", "pair-00001", "pair-00002"), "ben": ()},
)


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    made = audit_scenes.benchmark(tmp_path)
    write_assignment(made.path, SHARED_OUT)
    return made


def page(client: Any, pair_id: str, view: str, order: str = ASSIGNED) -> str:
    """Return a page without its tags, of which one is called `strong`, but with everything else in it."""
    answer = client.get("/item", params={"id": pair_id, "view": view, "order": order, "blind": "0"})
    assert answer.status_code == 200
    return without_tags(answer.text)


def without_tags(html: str) -> str:
    return re.sub(r"</?strong\b", "<", html)


def say(client: Any, pair_id: str, **said: str) -> None:
    form = {"csrf": form_token(audit_scenes.TOKEN), "note": "", **said}
    address = f"/label?order={ASSIGNED}&id={pair_id}"
    assert client.post(address, data=form, headers={"origin": "http://127.0.0.1:8123"}).status_code == 200


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pair_id", ["pair-00005", "pair-00001", "pair-00004"])  # 4 is not in the bundle
def test_nothing_of_judges_is_in_a_page_before_the_pair_of_a_bundle_is_labelled(
    folder: BenchmarkFolder, pair_id: str
) -> None:
    client = audit_scenes.client(PairSource(folder, annotator="anna"))
    for view in VIEW_NAMES:
        html = page(client, pair_id, view)
        for telling in (*JUDGES, "Named as the flawed round", "changes its mind", "judges right"):
            assert telling not in html, (view, telling)
        assert not re.search(r"\d judges?\b", html), view
    assert "opens once you have labelled it, or when you come to it in another order." in page(
        client, pair_id, "judges"
    )
    assert "Kept back until you have labelled the pair." in page(client, pair_id, "overview")
    assert "Right: verdict, turn and type at once." not in page(client, pair_id, "overview")


@pytest.mark.slow
def test_a_pair_opens_with_its_label_and_closes_when_that_is_taken_back(folder: BenchmarkFolder) -> None:
    client = audit_scenes.client(PairSource(folder, annotator="anna"))
    label_log(folder.path, "ben").append("pair-00005", "noise")  # somebody else's opens nothing
    assert "weak" not in page(client, "pair-00005", "judges")
    say(client, "pair-00005", value="clean")
    assert "weak" in page(client, "pair-00005", "judges")
    assert "weak" not in page(client, "pair-00001", "judges")
    say(client, "pair-00005", take_back="1")
    assert "weak" not in page(client, "pair-00005", "judges")


@pytest.mark.parametrize("order", ["number", JOINT, STRONG_MISS])
def test_in_another_order_judges_are_shown(folder: BenchmarkFolder, order: str) -> None:
    client = audit_scenes.client(PairSource(folder, annotator="anna"))
    assert "weak" in page(client, "pair-00005", "judges", order)
    assert "Named as the flawed round" in page(client, "pair-00001", "facts", order)
    assert "judges right" not in client.get("/", params={"order": order, "blind": "0"}).text  # one pair at a time
    say(client, "pair-00001", value="noise")
    assert "judges right" in client.get("/", params={"order": order}).text


@pytest.mark.slow
def test_the_list_of_a_bundle_tells_how_many_judges_were_right_of_labelled_pairs_alone(folder: BenchmarkFolder) -> None:
    source = PairSource(folder, annotator="anna")
    client = audit_scenes.client(source)
    assert source.orders[0] == ASSIGNED
    blind = client.get("/").text
    assert "judges right" not in blind
    rows = re.findall(r"<td.*?</td>", blind.replace("<bdi>", "").replace("</bdi>", ""), re.DOTALL)
    assert len(rows) == 12 * 6  # name, four columns, label
    assert not any(re.search(r"\d of \d", row) for row in rows)
    say(client, "pair-00001", value="noise")
    html = client.get("/").text
    told = re.findall(r'<td data-name="judges right"><bdi>(.*?)</bdi></td>', html)
    assert told == ["", "3 of 4", *[""] * 10]  # in the order of the bundle, the others behind it


def test_where_no_judge_was_asked_nothing_is_kept_back(tmp_path: Path) -> None:
    made = audit_scenes.benchmark(tmp_path, judged=False)
    write_assignment(made.path, SHARED_OUT)
    client = audit_scenes.client(PairSource(made, annotator="anna"))
    assert "No judge was asked about this pair." in page(client, "pair-00001", "judges")


@pytest.mark.parametrize("annotator", ["ben", "nobody we know"])
def test_whom_nothing_was_assigned_has_nothing_due_and_may_label_any_pair(
    folder: BenchmarkFolder, annotator: str
) -> None:
    source = PairSource(folder, annotator=annotator)
    assert (source.is_idle, source.orders[0]) == (True, "number")
    assert not any(item.due for item in source.items())
    client = audit_scenes.client(source)
    html = client.get("/").text
    assert "Assigned to you" in html
    assert "every pair can be read and labelled; those labels count apart, in no rate" in html
    assert "Begin labelling" not in html
    say(client, "pair-00001", value="noise")
    progress = source.progress()
    assert (progress.labelled, progress.items, progress.counts) == (0, 0, {"noise": 1})
    facts = {fact.name: fact for fact in progress.facts}
    assert facts["Noise rate"].text == "not known yet"
    assert facts["Not assigned"].text == "1 noise of 1"


def test_whom_something_was_assigned_is_told_nothing_of_the_kind(folder: BenchmarkFolder, tmp_path: Path) -> None:
    assert "Assigned to you" not in {fact.name for fact in PairSource(folder, annotator="anna").progress().facts}
    (tmp_path / "audit" / "assignment.json").unlink()
    free = PairSource(folder, annotator="ben")
    assert (free.is_idle, free.progress().items) == (False, 10)  # all but the two that were rejected


def test_pairs_rejected_since_they_were_drawn_are_counted_beside_the_rate(folder: BenchmarkFolder) -> None:
    pairs = {pair.pair_id: pair for pair in folder.pairs()}
    rejected = audit_scenes.pair(1, state="rejected")
    folder.write_pairs((pairs | {rejected.pair_id: rejected}).values())
    facts = {fact.name: fact for fact in PairSource(folder, annotator="anna").progress().facts}
    assert facts["Noise rate"].note.endswith("2 not labelled yet, 1 rejected since and still in it")


@pytest.mark.slow
def test_what_is_read_once_is_what_the_leaderboard_reads(folder: BenchmarkFolder, tmp_path: Path) -> None:
    results = read_results(folder)
    assert read_table(folder, folder.pairs()) == results.table("pairwise")
    single = audit_scenes.benchmark(tmp_path / "single", judged=False)
    with single.log() as log:
        log.append(row for one in single.pairs()[:11] for row in audit_scenes.single_rows(one, "only"))
    table = read_table(single, single.pairs())
    assert table == read_results(single).table("pointwise")
    assert len(table.pairs) == 10  # one of eleven is rejected
    unjudged = audit_scenes.benchmark(tmp_path / "unjudged", 5, judged=False)
    assert read_table(unjudged, unjudged.pairs()).cells == {}


def test_a_refused_answer_is_wrong_however_the_log_is_read(tmp_path: Path) -> None:
    made = audit_scenes.benchmark(tmp_path, 5, judged=False)
    first, second = made.pairs()[:2]
    with made.log() as log:
        log.append(audit_scenes.rows(second, "dead", right=True))
        log.append(
            audit_scenes.replace(row, verdict=None, outcome="refused")
            for row in audit_scenes.rows(first, "dead", right=True)
        )
    table = read_table(made, made.pairs())
    assert table == read_results(made).table("pairwise")
    assert table.joint("dead", "pair-00001") is False


@pytest.mark.slow
def test_pairs_are_read_once_and_rows_are_not_kept(folder: BenchmarkFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    lines = BenchmarkFolder._lines

    def counted(self: BenchmarkFolder, name: str, kind: Any) -> Any:
        opened.append(name)
        return lines(self, name, kind)

    monkeypatch.setattr(BenchmarkFolder, "_lines", counted)
    source = PairSource(folder, annotator="anna")
    for item in source.items():
        source.views(item.item_id)
    source.progress()
    assert opened.count(PAIRS) == 1
    held = vars(source).values()
    assert not any("changes its mind" in repr(value) for value in held)  # what judges wrote


def test_a_pair_whose_id_looks_like_a_side_of_another_has_its_own_answers(tmp_path: Path) -> None:
    made = audit_scenes.benchmark(tmp_path, 4, judged=False)
    first, second = made.pairs()[:2]
    odd = second.model_copy(
        update={"conditions": second.conditions.model_copy(update={"pair_id": f"{first.pair_id}/A"})}
    )
    made.write_pairs([first, odd])
    with made.log() as log:
        log.append([*audit_scenes.rows(first, "one", right=True), *audit_scenes.rows(odd, "other", right=True)])
    source = PairSource(made, annotator="anna")
    for pair, judge in ((first, "one"), (odd, "other")):
        view: Any = source.views(pair.pair_id)
        assert [answer.judge for answer in view.answers] == [judge]
