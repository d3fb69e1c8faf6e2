"""Other names in the texts of a case: people's and products' exchanged, models' too."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from judgeharness_integrations.cases import AnswerCase
from judgeharness_integrations.perturbations._fits import kind_of
from judgeharness_integrations.perturbations.base import Perturbation
from judgeharness_integrations.perturbations.model_names import MODEL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.perturbations.base import Context

__all__ = ["name_swap"]

_ALSO_FIRST_NAMES = frozenset({"Claude", "Gemini"})
_COMBINING = "\u0300-\u036f"


class _Found(NamedTuple):
    given: tuple[str, ...]
    models: tuple[str, ...]
    pattern: re.Pattern[str]


def name_swap() -> Perturbation:
    """Return the perturbation that exchanges names in all texts of a case, whole words only.

    The names of `case.names` change places among themselves, none keeping its own; so do the well-known model
    names that the texts mention, and one that stands alone becomes another of `MODEL_NAMES`. Who wrote an answer
    (`author`) stays.
    """
    return Perturbation("name_swap", _swapped, fits=_unfit, contextual=True)


def _swapped(case: Case, context: Context) -> Case:
    found = _found(case)
    other = _cycle(found.given, context.random)
    models = found.models
    if len(models) == 1:
        taken = {*models, *found.given}
        other[models[0]] = context.random.choice([name for name in MODEL_NAMES if name not in taken])
    other.update(_cycle(models, context.random) if len(models) > 1 else {})
    if not other:
        return case
    return _map_all(case, lambda text: found.pattern.sub(lambda name: other[name[0]], text))


def _unfit(case: Case) -> str | None:
    if not isinstance(case, (str, AnswerCase)):
        return f"name_swap needs an AnswerCase, a PairwiseCase or a string, not {kind_of(case)}."
    found = _found(case)
    if found.given or found.models:
        return None
    names = _distinct(_given(case))
    if len(names) == 1:
        return f"name_swap exchanges two names at least, and the case gives only {names[0]!r}."
    if names:
        return f"name_swap finds none of the case's names in its texts: {', '.join(names)}."
    return "name_swap finds no name to exchange: give the case's names, or texts that mention a model."


def _found(case: Case) -> _Found:
    """Return the names to exchange and the pattern that matches each where it stands as a whole word."""
    texts = _texts(case)
    given = _distinct(_given(case))
    given = given if len(given) > 1 else ()
    models = [name for name in MODEL_NAMES if name not in given and any(name in text for text in texts)]
    pattern = _pattern(given, models)
    seen = {name for text in texts for name in pattern.findall(text)}
    return _Found(given if seen.intersection(given) else (), tuple(name for name in models if name in seen), pattern)


def _pattern(given: Iterable[str], models: Iterable[str]) -> re.Pattern[str]:
    forms = {name: rf"{re.escape(name)}(?![\w{_COMBINING}])" for name in given}
    for name in models:
        # a version that is not listed, or a person of that first name, is a name of its own
        more = r"|[ ]\d" + ("|[ ][A-Z][a-z]" if name in _ALSO_FIRST_NAMES else "") if name.isalpha() else ""
        forms[name] = rf"(?<![.-]){re.escape(name)}(?!\w|[.-]\w{more})"
    ordered = sorted(forms, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms[name] for name in ordered)})" if ordered else r"(?!)")


def _cycle(names: Iterable[str], random: Random) -> dict[str, str]:
    order = sorted(names)
    random.shuffle(order)
    return dict(pairwise([*order, order[0]])) if order else {}


def _given(case: Case) -> tuple[str, ...]:
    return case.names if isinstance(case, AnswerCase) else ()


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _texts(case: Case) -> tuple[str, ...]:
    return (case,) if isinstance(case, str) else case.all_texts()


def _map_all(case: Case, change: Callable[[str], str]) -> Case:
    return change(case) if isinstance(case, str) else case.with_all_texts(change)
