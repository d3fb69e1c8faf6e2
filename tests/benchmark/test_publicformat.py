from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benchmark_results import DOCUMENTS, TAXONOMY, make_benchmark, make_pair

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.pair import Conversation, Conversations, Drawing, Turn, clean, draw_conditions
from judgeharness_integrations.benchmark.publicformat import Names, conversation_of, public_record, read_public

MESSAGES = [
    {"role": "user", "content": "When does it open?"},
    {"role": "assistant", "content": "At 8."},
    {"role": "user", "content": "And close?"},
    {"role": "assistant", "content": "At 6.\nOn Sundays never."},
]
TURNS = [
    {"user": one["content"], "assistant": two["content"]}
    for one, two in zip(MESSAGES[::2], MESSAGES[1::2], strict=True)
]
ENTRY: dict[str, Any] = {
    "id": 7,
    "domain": "loans",
    "convo_a": MESSAGES,
    "convo_b": TURNS,
    "better_is_a": False,
    "plan": {"good": "explain", "bad": {"idea": "evade", "round": 2}},
    "metadata": {
        "user_behavior_type": "impatient",
        "assistant_behavior_type": "evasion",
        "n_rounds": 2,
        "bad_round_index": 2,
        "context": "It opens at 8.",
    },
}


def changed(**changes: Any) -> dict[str, Any]:
    metadata = {**ENTRY["metadata"], **changes.pop("metadata", {})}
    entry = {**ENTRY, "metadata": metadata, **changes}
    return {name: value for name, value in entry.items() if value is not ...}


def imported(tmp_path: Path, *entries: Any, **options: Any) -> Any:
    file = tmp_path / "public.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return read_public(file, taxonomy=TAXONOMY, **options)


# Conversations


@pytest.mark.parametrize(
    "value",
    [
        MESSAGES,
        TURNS,
        {"messages": MESSAGES},
        {"turns": TURNS},
        [{"from": "human" if one["role"] == "user" else "AI", "value": one["content"]} for one in MESSAGES],
        [{"role": one["role"], "content": [{"type": "text", "text": one["content"]}]} for one in MESSAGES],
        "\n".join(f"{one['role'].title()}: {one['content']}" for one in MESSAGES),
        "\n\n".join(f"**{one['role'].upper()}:** {one['content']}" for one in MESSAGES),
        conversation_of(MESSAGES, where="x").text(),
        json.dumps(MESSAGES),
        " " + json.dumps({"turns": TURNS}),
    ],
)
def test_every_usual_shape_is_the_same_conversation(value: Any) -> None:
    found = conversation_of(value, where="f, line 1: convo_a")
    assert [turn.round for turn in found.turns] == [1, 2]
    assert [turn.user for turn in found.turns] == ["When does it open?", "And close?"]
    assert [turn.assistant for turn in found.turns] == ["At 8.", "At 6.\nOn Sundays never."]


def test_a_line_that_looks_like_a_speaker_belongs_to_the_answer() -> None:
    found = conversation_of(
        "User: Which one?\nAssistant: This:\nModel: X 500\nHuman: none\nUser: Ok\nAssistant: Yes", where="f"
    )
    assert [turn.assistant for turn in found.turns] == ["This:\nModel: X 500\nHuman: none", "Yes"]
    named = conversation_of("Human: Which one?\nAI: This.", where="f")
    assert named.turns[0].assistant == "This."


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "is no conversation: give a list of"),
        ('[{"role": "user"', "a text that does not begin with User:"),
        ('["a", "b"]', "is no conversation"),
        ([], "is no conversation"),
        (["hello", "hi"], "is no conversation"),
        ({"text": "x"}, "is no conversation"),
        ("hello there", "a text that does not begin with User:"),
        ("hello\nUser: x\nAssistant: y", "a text that does not begin with User:"),
        (
            [{"role": "system", "content": "be good"}, *MESSAGES],
            "entry 1 has the role 'system': only user and assistant",
        ),
        ([{"content": "x"}], "entry 1 has no role"),
        ([{"role": "user", "content": 5}], "entry 1 says nothing"),
        ([{"role": "user", "content": "  "}], "entry 1 says nothing"),
        (MESSAGES[1:], "message 1 is the assistant's: user and assistant take turns, user first"),
        ([MESSAGES[0], MESSAGES[0]], "message 2 is the user's"),
        (MESSAGES[:3], "ends with the user: give the assistant's last answer"),
        ("User: x\nAssistant:  \nUser: y\nAssistant: z", "round 1 is empty"),
    ],
)
def test_other_shapes_are_refused_with_their_place(value: Any, told: str) -> None:
    with pytest.raises(CaseError) as refused:
        conversation_of(value, where="f, line 3: convo_a")
    assert str(refused.value).startswith("f, line 3: convo_a")
    assert told in str(refused.value)


# Pairs


def test_a_pair_keeps_what_its_fields_say(tmp_path: Path) -> None:
    found = imported(tmp_path, ENTRY, generator="gpt")
    (pair,) = found.pairs
    assert (pair.pair_id, pair.generator, pair.state) == ("7", "gpt", "unverified")
    assert (pair.conditions.better, pair.conditions.flawed_round, pair.conditions.n_rounds) == ("B", 2, 2)
    assert (pair.conditions.failure_type, pair.conditions.behaviour) == ("evasion", "impatient")
    assert pair.conversation("A").text() == pair.conversation("B").text()
    assert pair.blueprints.better.sketch == "explain"
    assert json.loads(pair.blueprints.worse.sketch) == {"idea": "evade", "round": 2}
    assert [chunk.text for chunk in found.documents[0].chunks] == ["It opens at 8."]
    assert pair.conditions.chunks == (found.documents[0].chunks[0].chunk_id,)


def test_names_that_are_not_known_are_added_without_a_definition(tmp_path: Path) -> None:
    found = imported(tmp_path, changed(metadata={"assistant_behavior_type": "sulking"}))
    assert found.added == ("sulking", "impatient")
    assert found.taxonomy.failure_types["evasion"] == TAXONOMY.failure_types["evasion"]
    assert "No definition was given" in found.taxonomy.failure_types["sulking"].definition
    assert "No definition was given" in found.taxonomy.behaviours["impatient"].description


@pytest.mark.parametrize("name", ["Evasion", "EVASION", " evasion ", "eva-sion"])
def test_a_name_that_is_spelled_otherwise_is_that_of_the_taxonomy(tmp_path: Path, name: str) -> None:
    found = imported(tmp_path, changed(metadata={"assistant_behavior_type": name, "user_behavior_type": "Focused"}))
    conditions = found.pairs[0].conditions
    assert (conditions.failure_type, conditions.behaviour) == ("evasion", "focused")
    assert found.added == ()
    other = {} if name.strip() == "evasion" else {name: "evasion"}
    assert found.renamed == other | {"Focused": "focused"}


def test_names_that_differ_in_signs_alone_stay_apart_where_the_taxonomy_has_both() -> None:
    held = {name: TAXONOMY.failure_types["evasion"].model_copy(update={"name": name}) for name in ("a_b", "ab")}
    names = Names(TAXONOMY.model_copy(update={"failure_types": held}))
    assert [names.failure_type(name, "f") for name in ("a_b", "ab", "A B")] == ["a_b", "ab", "ab"]
    assert names.renamed == {"A B": "ab"}


def test_an_object_over_several_lines_and_a_list_inside_one_are_read(tmp_path: Path) -> None:
    file = tmp_path / "public.json"
    for content in (ENTRY, {"pairs": [ENTRY]}, {"version": 1, "data": [ENTRY]}):
        file.write_text(json.dumps(content, indent=2), encoding="utf-8")
        assert [pair.pair_id for pair in read_public(file, taxonomy=TAXONOMY).pairs] == ["7"]
    file.write_text(json.dumps({"pairs": [ENTRY, 5]}), encoding="utf-8")
    with pytest.raises(CaseError, match="entry 2 is no object"):
        read_public(file, taxonomy=TAXONOMY)


def test_what_a_table_kept_is_read(tmp_path: Path) -> None:
    floats = {**ENTRY["metadata"], "n_rounds": 2.0, "bad_round_index": 2.0}
    entry = changed(convo_a=json.dumps(MESSAGES), plan=json.dumps(ENTRY["plan"])) | {"metadata": json.dumps(floats)}
    assert imported(tmp_path, entry).pairs == imported(tmp_path, ENTRY).pairs


@pytest.mark.parametrize("context", [None, "", "  ", [], ["", " "]])
def test_a_context_without_a_word_is_no_document(tmp_path: Path, context: Any) -> None:
    found = imported(tmp_path, changed(metadata={"context": context}))
    assert (found.documents, found.pairs[0].conditions.chunks) == ((), ())


def test_one_context_is_one_document(tmp_path: Path) -> None:
    same = [changed(id=str(number)) for number in range(3)]
    found = imported(
        tmp_path,
        *same,
        changed(id="n", metadata={"context": None}),
        changed(id="l", metadata={"context": ["one", {"text": "two"}]}),
    )
    assert [len(document.chunks) for document in found.documents] == [1, 2]
    assert found.pairs[3].conditions.chunks == ()


def test_keys_of_others_are_told_and_left_out(tmp_path: Path) -> None:
    found = imported(tmp_path, changed(score=3, generator="claude", metadata={"cost": 1}))
    assert found.ignored == ("score", "metadata.cost")
    assert found.pairs[0].generator == "claude"
    assert imported(tmp_path, ENTRY).pairs[0].generator == "unknown"


def test_a_list_of_json_is_read_as_lines_are(tmp_path: Path) -> None:
    file = tmp_path / "public.json"
    file.write_text("\ufeff" + json.dumps([ENTRY, changed(id="8")], indent=1), encoding="utf-8")
    assert [pair.pair_id for pair in read_public(file, taxonomy=TAXONOMY).pairs] == ["7", "8"]
    file.write_text(json.dumps([ENTRY, changed(id=None)]), encoding="utf-8")
    with pytest.raises(CaseError, match=r"public\.json, entry 2: 'id' must be a text or a whole number"):
        read_public(file, taxonomy=TAXONOMY)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("text", "is no object"),
        ({name: value for name, value in ENTRY.items() if name != "metadata"}, "'metadata' is missing"),
        (ENTRY | {"metadata": []}, "'metadata' must be an object"),
        (changed(convo_b=...), "'convo_b' is missing"),
        (changed(better_is_a=1), "'better_is_a' must be true or false, not 1"),
        (changed(domain=None), "'domain' is missing"),
        (changed(metadata={"n_rounds": "2"}), "metadata: 'n_rounds' must be a whole number"),
        (changed(metadata={"n_rounds": True}), "metadata: 'n_rounds' must be a whole number"),
        (changed(metadata={"n_rounds": 2.5}), "metadata: 'n_rounds' must be a whole number"),
        (changed(metadata={"assistant_behavior_type": "none"}), "cannot be named 'none', which is another answer"),
        (changed(metadata={"n_rounds": 3}), "convo_a has 2 rounds, and n_rounds says 3"),
        (changed(convo_b=TURNS[:1]), "convo_b has 1 rounds, and n_rounds says 2"),
        (changed(metadata={"bad_round_index": 0}), "bad_round_index is 0, and rounds count from 1 to 2"),
        (changed(metadata={"bad_round_index": 3}), "bad_round_index is 3, and rounds count from 1 to 2"),
        (changed(metadata={"user_behavior_type": " "}), "'user_behavior_type' is empty"),
        (changed(metadata={"context": 5}), "'context' must be a text, or a list of texts, not 5"),
        (changed(metadata={"context": ["x", 5]}), "'context' must be a text"),
        (changed(plan="x"), "'plan' must be an object with good and bad"),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_and_line(tmp_path: Path, entry: Any, told: str) -> None:
    with pytest.raises(CaseError) as refused:
        imported(tmp_path, changed(id="first"), entry)
    assert "public.jsonl, line 2" in str(refused.value)
    assert told in str(refused.value)


def test_files_without_pairs_and_repeated_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="line 2: repeats the id '7'"):
        imported(tmp_path, ENTRY, ENTRY)
    with pytest.raises(CaseError, match="no pairs are in there"):
        imported(tmp_path)
    (tmp_path / "broken.jsonl").write_text("{")
    with pytest.raises(CaseError, match=r"broken\.jsonl, line 1 is no JSON"):
        read_public(tmp_path / "broken.jsonl", taxonomy=TAXONOMY)
    with pytest.raises(CaseError, match="cannot be read"):
        read_public(tmp_path / "missing.jsonl", taxonomy=TAXONOMY)


def test_plans_of_ours_keep_the_chunks_that_are_there(tmp_path: Path) -> None:
    chunk = imported(tmp_path, ENTRY).pairs[0].conditions.chunks[0]
    rounds = [{"round": 1, "user": "asks", "chunk": name, "assistant": "answers"} for name in (chunk, "gone#1", None)]
    plan = {"good": {"rounds": rounds, "sketch": "s"}, "bad": None}
    (pair,) = imported(tmp_path, changed(plan=plan)).pairs
    assert [entry.chunk for entry in pair.blueprints.better.rounds] == [chunk, None, None]
    assert (pair.blueprints.worse.rounds, pair.blueprints.worse.sketch) == ((), "")
    assert imported(tmp_path, changed(plan=None)).pairs[0].blueprints is None


# Round trip

TEXTS = st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()))


@pytest.mark.slow
@settings(max_examples=15)
@given(number=st.integers(0, 200), data=st.data())
def test_a_pair_comes_back_with_conversations_sides_and_gold(
    tmp_path_factory: pytest.TempPathFactory, number: int, data: st.DataObject
) -> None:
    drawn = draw_conditions(number, documents=DOCUMENTS, taxonomy=TAXONOMY, drawing=Drawing(seed=1))
    rounds = range(1, drawn.n_rounds + 1)
    said = [
        Conversation(turns=tuple(Turn(round=n, user=data.draw(TEXTS), assistant=data.draw(TEXTS)) for n in rounds))
        for _ in range(2)
    ]
    pair = make_pair(drawn).model_copy(update={"conversations": Conversations(better=said[0], worse=said[1])})
    record = public_record(pair, {document.document_id: document for document in DOCUMENTS})
    (found,) = imported(tmp_path_factory.mktemp("round"), json.loads(json.dumps(record))).pairs
    assert found.conversations is not None
    for one, other in zip(said, (found.conversations.better, found.conversations.worse), strict=True):
        assert [(clean(turn.user), clean(turn.assistant)) for turn in one.turns] == [
            (turn.user, turn.assistant) for turn in other.turns
        ]
    assert pair.blueprints is not None
    for side in ("better", "worse"):
        mine, theirs = getattr(pair.blueprints, side), getattr(found.blueprints, side)
        assert theirs.sketch == mine.sketch
        assert theirs.rounds == tuple(entry.model_copy(update={"chunk": None}) for entry in mine.rounds)
    assert found.generator == pair.generator
    same = ("pair_id", "failure_type", "behaviour", "n_rounds", "flawed_round", "better", "domain")
    assert [getattr(found.conditions, name) for name in same] == [getattr(pair.conditions, name) for name in same]


def test_fields_have_the_names_of_the_public_release(tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=1)
    (pair,) = folder.pairs()
    record = public_record(pair, {document.document_id: document for document in DOCUMENTS})
    assert [*record] == [*("id", "domain", "convo_a", "convo_b", "better_is_a", "plan", "metadata", "generator")]
    assert [*record["metadata"]] == [
        *("user_behavior_type", "assistant_behavior_type", "n_rounds", "bad_round_index", "context")
    ]
    assert record["better_is_a"] == (pair.conditions.better == "A")
    assert record["metadata"]["bad_round_index"] == pair.conditions.flawed_round
    assert "opens at 8" in record["metadata"]["context"]
    assert record["convo_a"][0]["role"] == "user"
    bare = public_record(pair.model_copy(update={"blueprints": None}), {})
    assert (bare["plan"], bare["metadata"]["context"]) == (None, "")
