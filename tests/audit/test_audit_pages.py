"""What the pages show: every view of pairs in every state, orders and filters, and texts that try things."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import audit_scenes
from support.report_scenes import HOSTILE

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.audit.labels import assign, write_assignment
from judgeharness_integrations.audit.pages import (
    COMMON_KEYS,
    PAIR_KEYS,
    PER_PAGE,
    VIEW_KEYS,
    VIEW_NAMES,
    Pages,
    Selection,
    Shown,
    keys_of,
    marked,
    rendered,
)
from judgeharness_integrations.audit.pairs import JOINT, STRONG_MISS, PairSource
from judgeharness_integrations.audit.source import Choice, PairView, judge_answers
from judgeharness_integrations.benchmark.folder import BenchmarkFolder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    return audit_scenes.benchmark(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture
def source(folder: BenchmarkFolder) -> PairSource:
    return PairSource(folder, annotator="reader")  # of whom nothing is ever written here


def page_of(source: PairSource, pair_id: str, view: str, *, turn: int | None = None, blind: bool = False) -> str:
    selection = Selection(order=source.orders[0], blind=blind, bared="" if blind else pair_id)
    item = Shown.of(selection, source).find(pair_id)
    assert item is not None
    return Pages(source=source, csrf="c").item(item, selection, view=view, turn=turn, last="")


def words_of(html: str) -> str:
    main = re.search(r"<main.*?</main>", html, re.DOTALL)
    assert main is not None
    return " ".join(re.sub(r"<[^>]*>", " ", re.sub(r"</?(bdi|b)>", "", main[0])).split())


@pytest.mark.slow
def test_the_overview_says_what_is_claimed_and_what_was_found_so_far(source: PairSource) -> None:
    words = words_of(page_of(source, "pair-00002", "overview"))
    assert "Conversation A is to fail by evasion in round 3 of 4, and nowhere else." in words
    assert "shifting a qualifier" in words
    assert "In round 3 the condition" in words
    assert "The pump manual (5 chunks)" in words
    assert "✓ right strong" in words
    assert "passed grounding" in words


def test_plans_stand_beside_each_other_and_the_flawed_round_is_told(source: PairSource) -> None:
    html = page_of(source, "pair-00001", "plans")
    assert len(re.findall("the flawed round", html)) == 1
    assert html.count("asks about step 2") == 2
    assert "pump-manual#1" in html


def test_of_conversations_the_flawed_round_is_open_and_tagged_on_its_side_alone(source: PairSource) -> None:
    html = page_of(source, "pair-00001", "conversations")
    opened = re.findall(r'<details class="turn( flawed)?" data-round="(\d)"( open)?>', html)
    assert opened == [
        *(("", "1", ""), ("", "1", "")),
        *(("", "2", " open"), (" flawed", "2", " open")),
        *(("", "3", ""), ("", "3", "")),
    ]
    assert "flawed: <bdi>self contradiction</bdi>" in html
    assert "2 of 3 claims not grounded" in html


def test_who_reads_blind_sees_nothing_that_tells_the_flaw(source: PairSource) -> None:
    for view in VIEW_NAMES:
        html = page_of(source, "pair-00001", view, blind=True)
        main = re.search(r"<main.*?</main>", html, re.DOTALL)
        assert main is not None
        for telling in ("flawed", "better", "worse", "contradiction", "grounded"):
            assert telling not in main[0]
        assert main[0].count(" open>") == 6
        assert "blind=1" in html


@pytest.mark.parametrize("blind", [False, True])
def test_the_text_is_there_to_check_the_conversations_against(source: PairSource, *, blind: bool) -> None:
    """Without it nobody can tell an invented figure, blind or not; nothing in it is marked."""
    html = page_of(source, "pair-00001", "conversations", blind=blind)
    text = html.partition('<details class="others text">')[2].partition("</main>")[0]
    assert "After a filter change the pump runs for twenty minutes." in text
    assert "<mark" not in text


def test_every_claim_is_shown_with_its_decision_its_words_and_whether_they_stand_there(source: PairSource) -> None:
    words = words_of(page_of(source, "pair-00001", "verification"))
    assert "Verified by ver-1" in words
    assert "A1 1 of 3 claims grounded" in words
    assert "these words stand there · said in so many words" in words
    assert "these words do not stand there" in words
    assert "undecided The gauge is looked at" in words
    assert "B2 the flawed turn: its claims are not checked" in words


def test_judges_stand_with_what_they_said_and_what_was_right(source: PairSource) -> None:
    words = words_of(page_of(source, "pair-00001", "judges"))
    assert "strong ✓ A right ✓ turn 2 right ✓ self contradiction right ✓ right" in words
    assert "shaky \u2013 \u2013 \u2013 ✗ wrong unparsed: no JSON object" in words
    assert "One conversation at a time" in words
    assert "weak A 4 ✗ flawed wrong ✗ turn 2 wrong" in words
    assert "weak B 2 ✓ flawed right ✓ turn 2 right" in words
    assert "What each judge decided" not in words  # each gave one answer


def test_several_answers_of_a_judge_are_told_apart_and_folded_below(tmp_path: Path) -> None:
    folder = audit_scenes.benchmark(tmp_path, 4, judged=False)
    made = folder.pairs()[0]
    with folder.log() as log:
        log.append(audit_scenes.rows(made, "both", right=True))
        log.append(audit_scenes.rows(made, "both", right=False, swapped=True))
    words = words_of(page_of(PairSource(folder, annotator="reader"), made.pair_id, "judges"))
    assert "both position swap ✗ B wrong" in words
    assert "What each judge decided" in words
    assert "as the leaderboard counts them" in words
    assert "abstained" in words


def test_the_fact_check_puts_question_answer_and_cited_text_together(source: PairSource) -> None:
    html = page_of(source, "pair-00001", "facts")
    words = words_of(html)
    assert "Round 1 Round 2 declared 3 judges Round 3" in words
    assert "Named as the flawed round by middling, strong, weak" in words
    assert "whatever the temperature" in words
    assert "<mark>After a filter change the pump runs for twenty minutes.</mark>" in html
    assert "3 other chunks" in words
    other = words_of(page_of(source, "pair-00001", "facts", turn=3))
    assert "And if the pressure drops" in other
    assert "declared" in other
    assert words_of(page_of(source, "pair-00001", "facts", turn=99)) == words


@pytest.mark.sampled(4)
@pytest.mark.parametrize("view", VIEW_NAMES)
@pytest.mark.parametrize("number", [10, 11, 12])
def test_pairs_that_came_half_way_have_every_view(source: PairSource, view: str, number: int) -> None:
    words = words_of(page_of(source, f"pair-{number:05d}", view))
    assert words
    if number == 12:
        expected = {"plans": "no plans", "conversations": "never written", "facts": "never written"}
        expected |= {"judges": "No judge was asked", "verification": "No model verified it"}
        assert expected.get(view, "the answer is no JSON object") in words
    if number == 10 and view in ("overview", "verification"):
        assert "Nobody verified this pair." in words
    if number == 11 and view in ("overview", "verification"):
        assert "round 1 of the worse conversation is flawed as well" in words


def test_orders_of_suspicion_begin_with_what_judges_get_wrong(source: PairSource) -> None:
    joint = source.ordered(JOINT)
    right = {item.item_id: item.judged["judges right"] for item in source.items()}
    assert right[joint[0]] == "1 of 4"
    assert [right[name] for name in joint[:9]] == sorted(right[name] for name in joint[:9])
    strange = source.ordered(STRONG_MISS)
    assert sorted(strange) == sorted(joint)
    assert joint[-2:] == strange[-2:] == ["pair-00011", "pair-00012"]  # rejected ones are last


def test_without_judges_there_is_no_order_of_suspicion(tmp_path: Path) -> None:
    source = PairSource(audit_scenes.benchmark(tmp_path, 4, judged=False), annotator="anna")
    assert source.orders == ("number",)
    assert source.items()[0].judged == {}
    assert "No judge was asked" in page_of(source, "pair-00001", "overview")


def test_judges_of_single_conversations_alone_make_orders_too(tmp_path: Path) -> None:
    folder = audit_scenes.benchmark(tmp_path, 5, judged=False)
    with folder.log() as log:
        log.append(row for one in folder.pairs()[:2] for row in audit_scenes.single_rows(one, "only"))
    source = PairSource(folder, annotator="anna")
    assert JOINT in source.orders
    assert [item.judged["judges right"] for item in source.items()] == ["1 of 1", "1 of 1", "", "", ""]
    assert "✓ right only" in words_of(page_of(source, "pair-00001", "overview"))


def test_answers_about_other_pairs_are_left_out() -> None:
    one, other = audit_scenes.pair(0), audit_scenes.pair(1)
    rows = [*audit_scenes.rows(other, "judge", right=True), *audit_scenes.single_rows(other, "judge")]
    assert judge_answers(rows, one) == ()
    assert len(judge_answers(rows, other)) == 3


def test_a_part_that_could_not_be_read_is_named() -> None:
    made = audit_scenes.pair(0)
    first, *rest = audit_scenes.rows(made, "judge", right=True)
    half = audit_scenes.replace(first, verdict=None, outcome="refused")
    (answer,) = judge_answers([half, *rest], made)
    assert answer.problem == "refused (verdict)"
    assert answer.joint is False
    again = [audit_scenes.replace(row, repetition=1) for row in rest]
    assert [one.probe for one in judge_answers([*rest, *again], made)] == ["", "repetition 2"]


def test_a_type_that_the_taxonomy_lacks_is_said_to_be_undefined() -> None:
    empty = audit_scenes.taxonomy().model_copy(update={"failure_types": {}, "behaviours": {}})
    view = PairView.of(audit_scenes.pair(0), taxonomy=empty, titles={}, chunks={})
    assert view.failure_type is None
    assert view.titles == {"pump-manual": "pump-manual"}
    assert view.chunks == {}
    assert view.disputed(2).cited == ()


def test_the_bundle_of_an_annotator_comes_first_and_alone_is_due(tmp_path: Path) -> None:
    folder = audit_scenes.benchmark(tmp_path, 12)
    pairs = [f"pair-{number:05d}" for number in range(1, 10)]
    made = assign(pairs, annotators=["anna", "ben"], n=6, overlap=0.5, suspicious=pairs)
    write_assignment(folder.path, made)
    source = PairSource(folder, annotator="anna")
    bundle = list(made.bundles["anna"])
    assert source.orders[0] == "assigned"
    assert list(source.ordered("assigned"))[: len(bundle)] == bundle
    assert {item.item_id for item in source.items() if item.due} == {*bundle}
    assert source.progress().facts[0].text == "not known yet"
    for name in bundle:
        source.label(name, "noise" if name == bundle[0] else "clean", "")
    other = PairSource(folder, annotator="ben")
    other.label(made.shared[0], "clean", "")
    facts = {fact.name: fact for fact in source.progress().facts}
    assert facts["Noise rate"].text.endswith("]")
    assert "of the uniform sample" in facts["Noise rate"].note
    assert facts["Suspicious slice"].note == "chosen for what judges said: in no rate"
    assert facts["Agreement"].note == "anna and ben on 1 pair both labelled"
    listing = Pages(source=source, csrf="c").listing(Selection(order="assigned"), last="")
    assert "everything is labelled" in listing
    assert "mine alone" in listing
    stranger = PairSource(folder, annotator="somebody else")
    assert (stranger.orders[0], stranger.assigned_others, source.assigned_others) == ("number", ("anna", "ben"), ())


def test_a_damaged_file_of_somebody_else_stops_nobody(tmp_path: Path) -> None:
    source = PairSource(audit_scenes.benchmark(tmp_path, 5), annotator="anna")
    source.label("pair-00001", "clean", "")
    (tmp_path / "audit" / "labels" / "ben.jsonl").write_text("nonsense\n")
    assert source.progress().labelled == 1
    (fact,) = source.progress().facts
    assert (fact.name, fact.text) == ("Noise rate", "cannot be told")
    assert "ben.jsonl, line 1 is no JSON" in fact.note


def test_labels_of_the_file_are_those_of_the_page_and_a_broken_benchmark_is_refused(tmp_path: Path) -> None:
    folder = audit_scenes.benchmark(tmp_path / "made", 5)
    source = PairSource(folder, annotator="anna")
    source.label("pair-00001", "ambiguous", "why")
    again = {item.item_id: item for item in PairSource(folder, annotator="anna").items()}
    assert (again["pair-00001"].label, again["pair-00001"].note) == ("ambiguous", "why")
    source.label("pair-00001", None, "")
    assert source.items()[0].label is None
    with pytest.raises(UsageError, match="holds no benchmark"):
        PairSource(BenchmarkFolder(tmp_path / "none"), annotator="anna")
    with pytest.raises(UsageError, match="name"):
        PairSource(folder, annotator="../anna")


def test_hostile_texts_are_escaped_and_made_visible_in_every_view(tmp_path: Path) -> None:
    source = PairSource(audit_scenes.hostile_benchmark(tmp_path), annotator="anna")
    for view in VIEW_NAMES:
        html = page_of(source, "pair-00001", view)
        assert "&lt;script&gt;window.__pwned=1&lt;/script&gt;" in html
        assert "{{ 7*7 }}" in html
        assert html.count("<script") == 2  # of the page, and of every page
        for attack in ("<img", "<svg", "<iframe", "\u202e", "\x00"):
            assert attack not in html.replace('<link rel="icon"', "")
        assert "[U+202E]" in html


def test_notes_titles_and_labels_of_people_are_escaped_too() -> None:
    source = audit_scenes.every_kind()
    source.title = source.annotator = HOSTILE[2]
    source.label("words", HOSTILE[0], HOSTILE[2])
    pages = Pages(source=source, csrf="c")
    selection = Selection(order="drawn", label=HOSTILE[0])
    for html in (pages.listing(selection, last="words"), pages.sentence(HOSTILE[0])):
        assert "<script>" not in html
        assert "<img" not in html


def test_the_list_is_filtered_counted_and_paged(source: PairSource, folder: BenchmarkFolder, tmp_path: Path) -> None:
    pages = Pages(source=source, csrf="c")
    html = pages.listing(Selection(order="number", filters={"domain": "power"}), last="")
    assert re.findall(r"pair-\d{5}(?=</bdi>)", html) == ["pair-00003", "pair-00006", "pair-00009", "pair-00012"]
    assert "4 of 12" in html
    assert '<option value="power" selected>power (4)</option>' in html
    empty = pages.listing(Selection(order="number", filters={"domain": "power"}, label="noise"), last="")
    assert "Nothing is like this" in empty
    one = BenchmarkFolder(tmp_path)
    one.write_settings(folder.settings())
    one.write_pairs(folder.pairs()[:1])
    alone = Pages(source=PairSource(one, annotator="reader"), csrf="c").listing(Selection(order="number"), last="")
    assert re.findall('<select name="([^"]*)"', alone) == ["label"]  # nothing else could be chosen
    many = audit_scenes.Cases(**{f"c{number}": audit_scenes.preference() for number in range(PER_PAGE + 5)})
    pages = Pages(source=many, csrf="c")
    assert pages.listing(Selection(order="drawn"), last="").count("data-row") == PER_PAGE
    last = pages.listing(Selection(order="drawn", page=99), last="")
    assert last.count("data-row") == 5
    assert "page 2 of 2" in last


def test_what_an_address_says_is_read_back_and_nonsense_says_nothing(source: PairSource) -> None:
    params = {"order": JOINT, "f-domain": "power", "label": "noise", "due": "1", "blind": "1", "page": "3"}
    selection = Selection.of(params, source)
    assert selection == Selection(order=JOINT, filters={"domain": "power"}, label="noise", due=True, blind=True, page=3)
    assert "order=joint+correctness&f-domain=power&label=noise&due=1&blind=1&page=3&id=x%26y" in selection.address(
        "/item", id="x&y", view="", last=None
    )
    for page in ("0", "-1", "x", "\u0663", "9" * 400, ""):
        assert Selection.of({"order": "none", "page": page, "f-colour": "x"}, source) == Selection(order="number")


labels = st.lists(st.sampled_from([None, "A", "B"]), min_size=1, max_size=8)


@given(labels=labels, at=st.integers(0, 7), wished=st.sampled_from(["", "unlabelled", "A"]))
def test_the_next_open_item_is_open_and_walking_reaches_every_listed_one(
    labels: list[str | None], at: int, wished: str
) -> None:
    source = audit_scenes.Cases(**{f"c{place}": audit_scenes.preference() for place in range(len(labels))})
    for place, label in enumerate(labels):
        source.said[f"c{place}"] = (label, "")
    shown = Shown.of(Selection(order="drawn", label=wished), source)
    here = f"c{at % len(labels)}"
    found = shown.next_open(here)
    open_ones = {f"c{place}" for place, label in enumerate(labels) if label is None} - {here}
    assert (found.item_id if found else None) in (open_ones or {None})
    walked, place = [], "c0"
    while (after := shown.beside(place)[1]) is not None:
        walked.append(after.item_id)
        assert shown.beside(after.item_id)[0] in (
            [None] if len(walked) == 1 and not shown.selection.lists(shown.items[0]) else [shown.find(place)]
        )
        place = after.item_id
    assert walked == [item.item_id for item in shown.listed if item.item_id != "c0"]
    following = shown.following(here)
    assert following == (shown.beside(here)[1] if wished == "A" else found)


@given(text=st.text(), passage=st.text())
def test_marking_changes_no_word(text: str, passage: str) -> None:
    plain = marked(text, ())
    with_marks = marked(text, [passage])
    assert str(with_marks).replace("<mark>", "").replace("</mark>", "") == str(plain)


def test_words_are_marked_across_line_breaks_and_never_become_markup() -> None:
    assert marked("a <b> c\n  d e", ["c d"]) == "a &lt;b&gt; <mark>c\n  d</mark> e"
    assert marked("aa", ["", "  "]) == "aa"


def test_no_key_does_two_things() -> None:
    page_keys = [*COMMON_KEYS, *PAIR_KEYS, *VIEW_KEYS.values()]
    assert len({*page_keys}) == len(page_keys)
    assert VIEW_KEYS.keys() == VIEW_NAMES.keys()
    tie = Choice(value="TIE", key="3", alias="t", name="TIE")
    passed = Choice(value="PASS", key="1", alias="p", name="PASS")
    assert keys_of(tie) == ("3",)
    assert keys_of(passed) == ("1", "p")
    assert keys_of(passed, taken=VIEW_KEYS.values()) == ("1",)
    assert keys_of(Choice(value="x", key="", name="x")) == ()


def test_a_template_that_prints_nothing_is_an_error() -> None:
    with pytest.raises(TypeError, match="no text"):
        rendered("message.html", title=None, sentence="", keys={}, source=audit_scenes.every_kind(), csrf="")
