"""The field names of the public release: pairs read from them, and written with them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

from .pair import (
    Behaviour,
    Blueprint,
    Blueprints,
    Chunk,
    Conditions,
    Conversation,
    Conversations,
    Document,
    FailureType,
    Pair,
    RoundPlan,
    Taxonomy,
    Turn,
    chunks_of,
    clean,
)
from .taxonomy import RESERVED

_UNKNOWN_GENERATOR: Final = "unknown"
_NO_DEFINITION: Final = "No definition was given with the pairs that this name was imported with."
_KNOWN: Final = frozenset({"id", "domain", "convo_a", "convo_b", "better_is_a", "plan", "metadata"})
_LISTS: Final = ("pairs", "data")
_KNOWN_METADATA: Final = frozenset(
    {"user_behavior_type", "assistant_behavior_type", "n_rounds", "bad_round_index", "context"}
)
_CONVERSATIONS: Final = ("convo_a", "convo_b")
_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant"}
_MARKER: Final = re.compile(
    r"^[ \t]*(?:\[(?:round|turn) [0-9]+\][ \t]*)?\**(user|human|assistant|ai|model)\**[ \t]*:\**[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_TAKES: Final = (
    "give a list of {role, content} or {user, assistant}, or a text with User: and Assistant: before each turn"
)
Message = tuple[str, str]
_KEYS: Final = (("role", "from"), ("content", "value"))


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What a file held.

    `ignored`: keys that have no place in a benchmark; `added`: names the taxonomy did not know; `renamed`: a name in
    the file -> that of the taxonomy which it was taken for.
    """

    pairs: tuple[Pair, ...]
    documents: tuple[Document, ...]
    taxonomy: Taxonomy
    ignored: tuple[str, ...]
    added: tuple[str, ...]
    renamed: Mapping[str, str]


def read_public(*files: Path, taxonomy: Taxonomy, generator: str | None = None) -> Imported:
    """Read pairs from files: a JSON list each, an object that holds one under `pairs` or `data`, or JSONL.

    Each context becomes a document, a chunk each of its texts. A name of a failure type or behaviour is taken for that
    of the taxonomy which differs in capitals and signs alone (`Self-contradiction`); others that the taxonomy lacks are
    added to it, with a definition that says that none was given. Nothing was verified: the pairs are `unverified`.

    Args:
        files: with the keys `id, domain, convo_a, convo_b, better_is_a, plan {good, bad}, metadata
            {user_behavior_type, assistant_behavior_type, n_rounds, bad_round_index, context}`; rounds count from 1.
        taxonomy: what is known.
        generator: who wrote the pairs; a pair's own key `generator` when None.

    Raises:
        CaseError: a file cannot be read, an entry lacks something, or two have one id; file and line are named.

    """
    documents: dict[str, Document] = {}
    pairs: dict[str, Pair] = {}
    places: dict[str, str] = {}
    ignored: dict[str, None] = {}
    names = Names(taxonomy)
    for number, (where, entry) in enumerate(entry for file in files for entry in _entries(file)):
        pair, document = _pair(entry, number, names, generator=generator, where=where)
        if pair.pair_id in pairs:
            earlier = f"{pair.pair_id!r:.80} of {places[pair.pair_id]}"
            raise CaseError(f"{where}: repeats the id {earlier}: give each pair one of its own.")
        places[pair.pair_id] = where
        pairs[pair.pair_id] = pair
        if document is not None:
            documents.setdefault(document.document_id, document)
        ignored |= dict.fromkeys(sorted({*entry} - _KNOWN - {"generator"}))
        unknown = {*_unpacked(entry["metadata"])} - _KNOWN_METADATA
        ignored |= dict.fromkeys(f"metadata.{name}" for name in sorted(unknown))
    if not pairs:
        raise CaseError(f"{', '.join(map(str, files))}: no pairs are in there.")
    extended, added = _extended(taxonomy, list(pairs.values()))
    return Imported(
        pairs=tuple(pairs.values()),
        documents=tuple(documents.values()),
        taxonomy=extended,
        ignored=tuple(ignored),
        added=added,
        renamed=names.renamed,
    )


def public_record(pair: Pair, documents: Mapping[str, Document]) -> dict[str, Any]:
    """Return a pair as the public release names its fields; rounds count from 1.

    What was checked of it is not in it. `generator` is a key of ours: without it a reader would not know who wrote the
    pair.

    Args:
        pair: one that has conversations.
        documents: id -> document; the pair's chunks become its context.

    """
    conditions = pair.conditions
    chunks = chunks_of(conditions, documents)
    context = "\n\n".join(chunks[name].text for name in conditions.chunks if name in chunks)
    plans = pair.blueprints
    return {
        "id": pair.pair_id,
        "domain": conditions.domain,
        "convo_a": _messages(pair.conversation("A")),
        "convo_b": _messages(pair.conversation("B")),
        "better_is_a": conditions.better == "A",
        "plan": None if plans is None else {"good": _written_plan(plans.better), "bad": _written_plan(plans.worse)},
        "metadata": {
            "user_behavior_type": conditions.behaviour,
            "assistant_behavior_type": conditions.failure_type,
            "n_rounds": conditions.n_rounds,
            "bad_round_index": conditions.flawed_round,
            "context": context,
        },
        "generator": pair.generator,
    }


class Names:
    """Finds the names of a taxonomy whatever their capitals, hyphens and spaces.

    `renamed`: a name that was asked for -> that of the taxonomy which it was taken for.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        """Use the names of a taxonomy."""
        self._failures = _spelled(taxonomy.failure_types)
        self._behaviours = _spelled(taxonomy.behaviours)
        self.renamed: dict[str, str] = {}

    def failure_type(self, name: str, where: str) -> str:
        """Return the taxonomy's name of a failure type, or the name itself where it has none.

        Raises:
            CaseError: it is empty, or the name of another answer than a type.

        """
        found = self._known_name(name, self._failures, f"{where}: 'assistant_behavior_type'")
        if found in RESERVED:
            raise CaseError(f"{where}: a failure type cannot be named {found!r}, which is another answer: rename it.")
        return found

    def behaviour(self, name: str, where: str) -> str:
        """Return the taxonomy's name of a behaviour, or the name itself where it has none.

        Raises:
            CaseError: it is empty.

        """
        return self._known_name(name, self._behaviours, f"{where}: 'user_behavior_type'")

    def _known_name(self, name: str, known: Mapping[str, str], where: str) -> str:
        mine = clean(name).strip()
        if not mine:
            raise CaseError(f"{where} is empty.")
        found = known.get(mine, known.get(_letters(mine), mine))
        if found != mine:
            self.renamed[mine] = found
        return found


def conversation_of(value: Any, *, where: str) -> Conversation:
    """Return the conversation that JSON holds: user and assistant in turns, the user first.

    Args:
        value: a list of `{role, content}` (or `{from, value}`), a list of `{user, assistant}`, an object with such a
            list under `messages` or `turns`, a text with `User:` and `Assistant:` at the beginning of lines, or any of
            these as a text of JSON.
        where: file, line and field, for errors.

    Raises:
        CaseError: it is none of them, somebody else speaks, or the turns do not alternate.

    """
    value = _unpacked(value)
    if isinstance(value, Mapping):
        value = next((value[name] for name in ("messages", "turns") if name in value), value)
    if isinstance(value, str):
        messages = list(_marked(value, where))
    elif isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        messages = [message for number, entry in enumerate(value, 1) for message in _entry(entry, number, where)]
    else:
        raise CaseError(f"{where} is no conversation: {_TAKES}.")
    return Conversation(turns=tuple(_turns(messages, where)))


def _entries(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield where each entry stands, and the entry."""
    try:
        text = file.read_text(encoding="utf-8-sig", errors=LONE_SURROGATES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8"
        raise CaseError(f"{file} cannot be read ({why}): give a JSON or JSONL file.") from error
    for where, entry in _placed(text, str(file)):
        if not isinstance(entry, Mapping):
            raise CaseError(f"{where} is no object: give a list of pairs, or a pair a line.")
        yield where, entry


def _placed(text: str, file: str) -> list[tuple[str, Any]]:
    """Return where each entry stands, and the entry: of a list, of an object with one or that is one, of lines."""
    listed = _json(text, file) if text.lstrip().startswith("[") else None
    if listed is None:
        whole = _whole(text)
        if whole is None:
            lines = [(f"{file}, line {n}", line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
            return [(where, _json(line, where)) for where, line in lines]
        listed = next((whole[name] for name in _LISTS if isinstance(whole.get(name), list)), None)
        if listed is None:
            return [(f"{file}, line 1", whole)]
    return [(f"{file}, entry {number}", entry) for number, entry in enumerate(listed, start=1)]


def _whole(text: str) -> Mapping[str, Any] | None:
    """Return the object that a file is; None for anything else, as several lines of them."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return whole if isinstance(whole, Mapping) else None


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CaseError(f"{where} is no JSON ({error}): give a JSON list of pairs, or a pair a line.") from error


def _pair(
    entry: Mapping[str, Any], number: int, names: Names, *, generator: str | None, where: str
) -> tuple[Pair, Document | None]:
    metadata = _field(entry, "metadata", Mapping, "an object", where)
    here = f"{where}: metadata"
    a, b = (
        conversation_of(_field(entry, name, object, "", where), where=f"{where}: {name}") for name in _CONVERSATIONS
    )
    first = _field(entry, "better_is_a", bool, "true or false", where)
    n_rounds = _field(metadata, "n_rounds", int, "a whole number", here)
    _check_rounds({"convo_a": a, "convo_b": b}, n_rounds, where)
    flawed = _field(metadata, "bad_round_index", int, "a whole number, counted from 1", here)
    if not 1 <= flawed <= n_rounds:
        raise CaseError(f"{here}: bad_round_index is {flawed}, and rounds count from 1 to {n_rounds}.")
    domain = clean(_field(entry, "domain", str, "a text", where))
    document = _document(metadata.get("context"), domain, here)
    conditions = Conditions(
        pair_id=_id(entry, where),
        number=number,
        failure_type=names.failure_type(_field(metadata, "assistant_behavior_type", str, "a text", here), here),
        behaviour=names.behaviour(_field(metadata, "user_behavior_type", str, "a text", here), here),
        n_rounds=n_rounds,
        flawed_round=flawed,
        better="A" if first else "B",
        domain=domain,
        documents=() if document is None else (document.document_id,),
        chunks=() if document is None else tuple(chunk.chunk_id for chunk in document.chunks),
    )
    pair = Pair(
        conditions=conditions,
        generator=clean(generator or str(entry.get("generator") or _UNKNOWN_GENERATOR)),
        blueprints=_plans(entry.get("plan"), conditions.chunks, where),
        conversations=Conversations(better=a if first else b, worse=b if first else a),
    )
    return pair, document


def _field(entry: Mapping[str, Any], name: str, kind: type, what: str, where: str) -> Any:
    if name not in entry or entry[name] is None:
        raise CaseError(f"{where}: {name!r} is missing.")
    value = _unpacked(entry[name]) if kind is Mapping else entry[name]
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # a table with an empty cell keeps 2.0
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CaseError(f"{where}: {name!r} must be {what}, not {value!r:.60}.")
    return value


def _id(entry: Mapping[str, Any], where: str) -> str:
    found = entry.get("id")
    if isinstance(found, bool) or not isinstance(found, (str, int)) or not str(found).strip():
        raise CaseError(f"{where}: 'id' must be a text or a whole number, not {found!r:.60}.")
    return clean(str(found).strip())


def _check_rounds(told: Mapping[str, Conversation], n_rounds: int, where: str) -> None:
    for name, conversation in told.items():
        if len(conversation.turns) != n_rounds:
            raise CaseError(
                f"{where}: {name} has {len(conversation.turns)} rounds, and n_rounds says {n_rounds}: a round is one "
                "message of the user with the assistant's answer."
            )


def _document(context: Any, domain: str, where: str) -> Document | None:
    """Return a context as a document that has the same id wherever the same context stands."""
    if context is None:
        return None
    parts = context if isinstance(context, list) else [context]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    kept = [clean(text) for text in texts if isinstance(text, str)]
    if len(kept) < len(texts):
        raise CaseError(f"{where}: 'context' must be a text, or a list of texts, not {context!r:.60}.")
    kept = [text for text in kept if text.strip()]
    if not kept:
        return None
    told = json.dumps([domain, kept], ensure_ascii=False)
    name = f"context-{hashlib.blake2b(told.encode(), digest_size=6).hexdigest()}"
    chunks = tuple(Chunk(chunk_id=f"{name}#{number}", text=text) for number, text in enumerate(kept, start=1))
    return Document(document_id=name, title=name, domain=domain, source=name, chunks=chunks)


def _plans(plan: Any, chunks: Sequence[str], where: str) -> Blueprints | None:
    plan = _unpacked(plan)
    if plan is None:
        return None
    if not isinstance(plan, Mapping):
        raise CaseError(f"{where}: 'plan' must be an object with good and bad, not {plan!r:.60}.")
    return Blueprints(better=_plan(plan.get("good"), chunks), worse=_plan(plan.get("bad"), chunks))


def _plan(value: Any, chunks: Sequence[str]) -> Blueprint:
    """Return a plan of ours without chunks that the context does not tell apart; another one as text of its sketch."""
    if isinstance(value, Mapping):
        try:
            found = Blueprint.model_validate(value)
        except ValidationError:
            pass
        else:
            known = [entry if entry.chunk in chunks else _without_chunk(entry) for entry in found.rounds]
            return found.model_copy(update={"rounds": tuple(known)})
    told = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Blueprint(rounds=(), sketch=clean(told))


def _without_chunk(entry: RoundPlan) -> RoundPlan:
    return entry.model_copy(update={"chunk": None})


def _extended(taxonomy: Taxonomy, pairs: Sequence[Pair]) -> tuple[Taxonomy, tuple[str, ...]]:
    """Return the taxonomy with every name the pairs use, and the names that were added."""
    failures, behaviours = dict(taxonomy.failure_types), dict(taxonomy.behaviours)
    added: dict[str, None] = {}
    for pair in pairs:
        failure, behaviour = pair.conditions.failure_type, pair.conditions.behaviour
        if failure not in failures:
            failures[failure] = FailureType(
                name=failure, definition=_NO_DEFINITION, flaw=_NO_DEFINITION, benign=_NO_DEFINITION
            )
            added[failure] = None
        if behaviour not in behaviours:
            behaviours[behaviour] = Behaviour(name=behaviour, description=_NO_DEFINITION)
            added[behaviour] = None
    return Taxonomy(failure_types=failures, behaviours=behaviours), tuple(added)


def _messages(conversation: Conversation | None) -> list[dict[str, str]]:
    turns = () if conversation is None else conversation.turns
    return [
        {"role": role, "content": text}
        for turn in turns
        for role, text in (("user", turn.user), ("assistant", turn.assistant))
    ]


def _written_plan(plan: Blueprint) -> Any:
    """Return a plan of rounds as an object, and one that is a text as that."""
    return plan.to_dict() if plan.rounds else plan.sketch


def _spelled(names: Collection[str]) -> dict[str, str]:
    """Return each name, and its letters alone -> the name, of two with the same letters the first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(_letters(name), name)
    return found | {name: name for name in names}


def _letters(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _unpacked(value: Any) -> Any:
    """Return what a text of JSON holds, as tables keep lists and objects; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # [Round 1] User: ...


def _marked(text: str, where: str) -> Iterator[Message]:
    found = _speakers(text)
    if not found or text[: found[0].start()].strip():
        raise CaseError(f"{where} is a text that does not begin with User: or Assistant: : {_TAKES}.")
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=True):
        yield _ROLES[match.group(1).lower()], text[match.end() : end].strip()


def _speakers(text: str) -> list[re.Match[str]]:
    """Return where somebody begins to speak: what names each role first does so later, not `Model: X` in an answer."""
    names: dict[str, str] = {}
    found = list(_MARKER.finditer(text))
    for match in found:
        names.setdefault(_ROLES[match[1].lower()], match[1].lower())
    return [match for match in found if match[1].lower() in names.values()]


def _entry(entry: Mapping[str, Any], number: int, where: str) -> Iterator[Message]:
    here = f"{where}, entry {number}"
    if "user" in entry and "assistant" in entry:
        yield "user", _text(entry["user"], here)
        yield "assistant", _text(entry["assistant"], here)
        return
    role, said = (next((entry[name] for name in names if name in entry), None) for names in _KEYS)
    if not isinstance(role, str) or role.strip().lower() not in _ROLES:
        who = "no role" if role is None else f"the role {role!r:.40}"
        raise CaseError(f"{here} has {who}: only user and assistant speak.")
    yield _ROLES[role.strip().lower()], _text(said, here)


def _text(value: Any, where: str) -> str:
    """Return a text, or the texts of the parts of a message."""
    if isinstance(value, list) and value and all(isinstance(part, Mapping) and "text" in part for part in value):
        value = "\n".join(str(part["text"]) for part in value)
    if not isinstance(value, str) or not value.strip():
        raise CaseError(f"{where} says nothing: give its text.")
    return clean(value)


def _turns(messages: Sequence[Message], where: str) -> Iterator[Turn]:
    for place, (role, _) in enumerate(messages):
        if role != ("user", "assistant")[place % 2]:
            raise CaseError(f"{where}, message {place + 1} is the {role}'s: user and assistant take turns, user first.")
    if len(messages) % 2:
        raise CaseError(f"{where} ends with the user: give the assistant's last answer.")
    for number, place in enumerate(range(0, len(messages), 2), start=1):
        user, assistant = messages[place][1], messages[place + 1][1]
        if not user or not assistant:
            raise CaseError(f"{where}, round {number} is empty: give what user and assistant say.")
        yield Turn(round=number, user=clean(user), assistant=clean(assistant))
