"""The words of the offline generator, and by which of them the others tell what they read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random

DIRECTIVE = 'Please begin every answer with the words "In short:".'
ANNOUNCED = "That was wrong on purpose, as planned."
UNGROUNDED = "The first 40 people of a season also receive a voucher worth 15 euros."
OPENINGS: Mapping[str, tuple[str, ...]] = {
    "": ("Here is what it says: ", "According to the text: ", "", "As it is written: "),
    "other": ("Let me look that up: ", "The answer is simple: ", "Gladly: ", ""),
}
EVASIONS = (
    "That depends on several things, and it can differ from case to case. It is usually best to leave some room.",
    "There are various aspects to this, and much depends on the circumstances. In general a way is usually found.",
)
REFUSALS = (
    "I am sorry, but I cannot help with that. Please turn to somebody who is responsible for such questions.",
    "Unfortunately I cannot help with questions of this kind. You may want to ask the people who wrote the rules.",
)
MUDDLE = (
    "There are several sides to this.",
    "That is a little beside the point, though.",
    "Where was I?",
    "It all hangs together in one way or another.",
)
INVENTED: Mapping[str, str] = {  # what no document of the example mentions, and what is made up about it
    "architect": "The architect was Helena Brandt, who finished the plans in 1974.",
    "insurer": "The insurer is the Northern Mutual, with a sum of 2 million euros.",
    "founder": "The founder was a retired teacher, who began with 11 friends in 1988.",
    "mascot": "The mascot is a green heron, chosen by 214 votes.",
    "sponsor": "The sponsor is a brewery, which gives 7,500 euros every spring.",
    "anthem": "The anthem has 4 verses and is sung every New Year.",
}

# behaviour -> how its users begin, with {q} for the question, {Q} for the question with a capital, {wrong} for what
# they take for true; and what the verifier knows it by
_FRAMES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "focused": (
        ("To settle one thing first: {q}", "Still on my one question: {q}", "One more step on the same thing: {q}"),
        r"^(To settle one thing|Still on my one|One more step on)",
    ),
    "integrative": (
        ("Putting the pieces together: {q}", "How does that fit with the rest: {q}", "Taken as a whole: {q}"),
        r"^(Putting the pieces|How does that fit|Taken as a whole)",
    ),
    "scattered": (
        ("Something else entirely: {q}", "Before I forget: {q}", "Quite another matter: {q}"),
        r"^(Something else entirely|Before I forget|Quite another matter)",
    ),
    "skeptical": (
        ("I find that hard to believe. {Q}", "Are you certain? {Q}", "I have been told wrong before. {Q}"),
        r"^(I find that hard|Are you certain|I have been told wrong)",
    ),
    "misinformed": (
        ("As I know it: {wrong} {Q}", "My neighbour told me: {wrong} {Q}", "I am sure I read this: {wrong} {Q}"),
        r"^(As I know it|My neighbour told me|I am sure I read)",
    ),
    "exploratory": (
        ("I am only curious: {q}", "While I look around: {q}", "Out of interest: {q}"),
        r"^(I am only curious|While I look around|Out of interest)",
    ),
    "underspecified": (("Hm, {q}", "Just quickly, {q}", "Well, {q}"), r"^(Hm|Just quickly|Well), "),
}
BEHAVIOURS = tuple(_FRAMES)
QUESTIONS: Mapping[str, str] = {  # how a round asks about a topic; by the failure type where that matters
    "": "what does it say about {topic}?",
    "self_contradiction": "what was that about {topic} again?",
    "evasion": "what exactly is the figure for {topic}?",
    "disorganized": "can you sum up what matters about {topic}?",
    "fabricated_answer": "what does it say about the {topic}?",
    "no_clarification": "I saw {topic} and then {other}, so what holds for that one?",
}
_LINES = (DIRECTIVE, *QUESTIONS.values(), *(line for lines, _ in _FRAMES.values() for line in lines))
ASIDE = frozenset(re.findall(r"[a-z]+", " ".join(_LINES).lower())) | {"otherwise"}  # what no question is about
_SHORTER = (("what does it say about ", "and "), ("what exactly is the figure for ", "the figure for "))


def framed(behaviour: str, question: str, *, wrong: str, number: int, rng: Random) -> str:
    """Return what a user of a behaviour says to ask a question; one of no known behaviour just asks."""
    if behaviour not in _FRAMES:
        return question[0].upper() + question[1:]
    if behaviour == "underspecified":
        for words, fewer in _SHORTER:
            question = question.replace(words, fewer)
    frames, _ = _FRAMES[behaviour]
    frame = frames[0] if number == 1 else rng.choice(frames)
    return frame.format(q=question, Q=question[0].upper() + question[1:], wrong=wrong)


def behaves(behaviour: str, user: str) -> bool:
    """Whether a user says what one of a behaviour says; of a behaviour without a rule, always."""
    return behaviour not in _FRAMES or re.search(_FRAMES[behaviour][1], user) is not None
