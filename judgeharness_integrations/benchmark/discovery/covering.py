"""Does a present type cover what a transcript shows? Asked before anything new is proposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from judgeharness_integrations.benchmark.asking.asker import Asker, UnreadableError
from judgeharness_integrations.benchmark.discovery.transcripts import Transcript
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.benchmark.records import Record, clean
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import Kind
from judgeharness_integrations.chatmodels import ChatModel, Prompt

__all__ = ["COVER", "LONGEST", "Cover", "CoverState", "cover_prompt", "covered"]

CoverState: TypeAlias = Literal["covered", "uncovered", "nothing", "unread"]

COVER: Final = "discovery_cover"
LONGEST: Final = 40_000  # characters of a transcript that are shown
_OTHER: Final = "other"
_NOTHING: Final = "nothing"


class Cover(Record):
    """What was said of a transcript.

    `state`: a present `type` covers it, none does, there is nothing to be covered, or no answer could be read (`reason`
    says why). `shows`: what the model saw.
    """

    transcript_id: str
    state: CoverState
    type: str | None = None
    shows: str | None = None
    reason: str | None = None


def cover_prompt(transcript: Transcript, taxonomy: Taxonomy, *, kind: Kind) -> Prompt:
    """Return the request about one transcript, `{shows, reason, type}`."""
    types = list(getattr(taxonomy, kind).values())
    names = [*(entry.name for entry in types), _OTHER, _NOTHING]
    text = {"type": "string"}
    schema = object_of("cover", {"shows": text, "reason": text, "type": {"type": "string", "enum": names}})
    given = [("Transcript", transcript.shown(LONGEST))]
    return prompt(COVER, given, schema, template=f"{COVER}_{kind}", types=types)


async def covered(transcript: Transcript, taxonomy: Taxonomy, *, kind: Kind, model: ChatModel, asker: Asker) -> Cover:
    """Ask whether a present type covers a transcript.

    Raises:
        AskError: an attempt failed in the end.
        BudgetExhausted: nothing may be spent any more.

    """
    names = list(getattr(taxonomy, kind))

    def read(answer: Mapping[str, Any]) -> Cover:
        return _read(answer, names, transcript.transcript_id)

    asked = cover_prompt(transcript, taxonomy, kind=kind)
    answer = await asker.ask(model, asked, item=transcript.transcript_id, read=read)
    if answer.value is None:
        return Cover(transcript_id=transcript.transcript_id, state="unread", reason=answer.reason)
    return answer.value


def _read(answer: Mapping[str, Any], names: Sequence[str], transcript_id: str) -> Cover:
    found, shows, reason = (answer.get(key) for key in ("type", "shows", "reason"))
    if not isinstance(found, str) or found not in (*names, _OTHER, _NOTHING):
        raise UnreadableError("type is no type it was given")
    if not isinstance(shows, str) or not isinstance(reason, str):
        raise UnreadableError("shows or reason is no text")
    if found == _OTHER and not shows.strip():
        raise UnreadableError("type is other, but shows says nothing")
    state: CoverState = "uncovered" if found == _OTHER else "nothing" if found == _NOTHING else "covered"
    return Cover(
        transcript_id=transcript_id,
        state=state,
        type=found if state == "covered" else None,
        shows=clean(shows).strip() or None,
        reason=clean(reason).strip() or None,
    )
