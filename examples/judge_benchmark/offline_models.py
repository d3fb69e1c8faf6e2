"""Models that need no key and no network: a generator, a verifier and judges that follow rules.

They stand in for real models so that every command of the benchmark can be tried. What they write is put together
from sentences of your documents, what they find they find by rules that fit such conversations, and how well the
judges judge is planted. No number that comes out of them says anything about a real model, or about your documents.

    judgeharness benchmark generate examples/judge_benchmark/documents --n 60 --out bench \
        --generator examples/judge_benchmark/offline_models.py:generator \
        --verifier examples/judge_benchmark/offline_models.py:verifier

A generator errs as real ones do: in about a sixth of the pairs it plants a defect, which the verifier is to find.
`careful_generator` does not, and `other_generator` is another one, for a parallel set of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from offline_judging import Skill, judged_conversation, judged_pair
from offline_observing import covered, proposed
from offline_reading import conditions, pieces, share
from offline_rules import TYPES
from offline_verifying import adherence, claims, coherence, grounding
from offline_writing import DEFECTS, blueprint, scene, seed_of, turns

from judgeharness_integrations.judging.chatmodels import Completion, Prompt

JUDGES = {
    "judge_strong": Skill("judge_strong", 0.92),
    "judge_good": Skill("judge_good", 0.83, first=0.02),
    "judge_middling": Skill("judge_middling", 0.74, first=0.04),
    "judge_hasty": Skill("judge_hasty", 0.64, first=0.1),
    "judge_weak": Skill("judge_weak", 0.54, first=0.15),
}
_DEFECTIVE = 1 / 6
Planted = Callable[[str], str | None]  # the seed of a pair -> the defect it is to have


def some_defects(seed: str) -> str | None:
    """Return the defect of a pair, if it has one."""
    chosen = share("defect", seed)
    return DEFECTS[int(chosen / _DEFECTIVE * len(DEFECTS))] if chosen < _DEFECTIVE else None


def no_defect(_: str) -> str | None:
    """Return None: every pair is what it was to be."""
    return None


def written(
    given: Mapping[str, str], properties: Mapping[str, Any], *, planted: Planted, style: str = ""
) -> dict[str, Any] | str:
    """Return what a generator writes: both plans, or one conversation on its plan; a text where it is broken."""
    told, documents = conditions(given), given["Documents"]
    defect = planted(seed_of(told, documents))
    if "turns" not in properties:
        planned = scene(told, documents, style=style)
        return {side: blueprint(planned, side, defect=defect) for side in ("better", "worse")}
    if defect == "malformed JSON" and told["side"] == "worse":
        return '{"turns": [{"round": 1, "user": "'
    return {"turns": turns(scene(told, documents, style=style, defect=defect), told["side"], defect=defect)}


def checked(given: Mapping[str, str], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the verifier says."""
    steps = {"coherent": coherence, "worse_flaws": adherence, "claims": claims, "decisions": grounding}
    return next(step for name, step in steps.items() if name in properties)(given)


def judged(given: Mapping[str, str], properties: Mapping[str, Any], skill: Skill) -> dict[str, Any]:
    """Return what a judge says about a pair or about one conversation."""
    kinds = [kind for kind in properties["type"].get("enum", TYPES) if kind is not None]
    return (judged_pair if "Conversation A" in given else judged_conversation)(given, skill, kinds)


def said_by(name: str, user: str, properties: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return what the model of a name answers to a prompt, of which it reads the user's part alone."""
    given = pieces(user)
    if name == "verifier":
        return checked(given, properties)
    if name == "observer":
        return proposed(given) if "types" in properties else covered(given, properties)
    return judged(given, properties, JUDGES[name]) if name in JUDGES else _GENERATORS[name](given, properties)


_GENERATORS: Mapping[str, Callable[..., dict[str, Any] | str]] = {
    "generator": partial(written, planted=some_defects),
    "careful_generator": partial(written, planted=no_defect),
    "other_generator": partial(written, planted=some_defects, style="other"),
}


def _completion(prompt: Prompt, name: str) -> Completion:
    """Return an answer as a model's client reports it, with words for tokens."""
    said = said_by(name, prompt.user, prompt.schema["properties"])
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return Completion(
        text=text,
        parsed=None if isinstance(said, str) else said,
        model=name,
        input_tokens=len(prompt.system.split()) + len(prompt.user.split()),
        output_tokens=len(text.split()),
    )


def generator(prompt: Prompt) -> Completion:
    """Write pairs, a sixth of them with a defect."""
    return _completion(prompt, "generator")


def careful_generator(prompt: Prompt) -> Completion:
    """Write pairs without a defect."""
    return _completion(prompt, "careful_generator")


def other_generator(prompt: Prompt) -> Completion:
    """Write the same pairs in other words."""
    return _completion(prompt, "other_generator")


def verifier(prompt: Prompt) -> Completion:
    """Check pairs."""
    return _completion(prompt, "verifier")


def observer(prompt: Prompt) -> Completion:
    """Read transcripts for failure types and behaviours."""
    return _completion(prompt, "observer")


def judge_strong(prompt: Prompt) -> Completion:
    """Judge, and be right most of the time."""
    return _completion(prompt, "judge_strong")


def judge_good(prompt: Prompt) -> Completion:
    """Judge, a little worse than the strong one."""
    return _completion(prompt, "judge_good")


def judge_middling(prompt: Prompt) -> Completion:
    """Judge, and be right more often than not."""
    return _completion(prompt, "judge_middling")


def judge_hasty(prompt: Prompt) -> Completion:
    """Judge, a little better than the weak one."""
    return _completion(prompt, "judge_hasty")


def judge_weak(prompt: Prompt) -> Completion:
    """Judge, and guess a good deal."""
    return _completion(prompt, "judge_weak")
