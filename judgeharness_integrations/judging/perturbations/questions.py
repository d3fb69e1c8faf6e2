"""The same question in another form, for judges that ask typed questions: each has the same answer, or the opposite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.judging.cases import AnswerCase, QuestionForm, presented
from judgeharness_integrations.judging.perturbations.base import Perturbation, wants_answer

if TYPE_CHECKING:
    from judgeharness_integrations.judging.perturbations.base import Context
    from judgeharness_integrations.verdictlog.row import Verdict

_MOST_TURNS = 2**16
_OPPOSITE = {"PASS": "FAIL", "FAIL": "PASS"}
_SENTENCES: Final = (
    "The Danube flows into the Black Sea.",
    "A week has seven days.",
    "Honey is made by bees.",
    "The Moon goes round the Earth.",
    "Copper conducts electricity.",
)


def option_order() -> Perturbation:
    """Return the perturbation that shows the options of a choice in another order, a rotation drawn for each case.

    The two answers of a pair stay where they are.
    """
    return _form("option_order", _turned)


def option_names() -> Perturbation:
    """Return the perturbation that calls the options of a choice option 1, option 2 ...; what they mean is said."""
    return _form("option_names", lambda form, *_: replace(form, renamed=True))


def negated() -> Perturbation:
    """Return the perturbation that asks the opposite of a yes or no question.

    PASS is restored to FAIL and FAIL to PASS, and so are their probabilities: p becomes 1 - p.
    """
    made = _form("negated", lambda form, *_: replace(form, negated=not form.negated))
    return replace(made, restore=_restored, negates=True)


def two_way_choice() -> Perturbation:
    """Return the perturbation that asks a yes or no question as a choice between yes and no."""
    return _form("two_way_choice", lambda form, *_: replace(form, two_way=True))


def alone() -> Perturbation:
    """Return the perturbation that asks every question about a case in a request of its own."""
    return _form("alone", lambda form, *_: replace(form, alone=True))


def irrelevant_sentence() -> Perturbation:
    """Return the perturbation that puts a true sentence beside the case that has nothing to do with it."""
    return _form("irrelevant_sentence", _with_sentence)


def _turned(form: QuestionForm, context: Context, case: AnswerCase) -> QuestionForm:
    del case
    return replace(form, turned=context.random.randrange(_MOST_TURNS))


def _with_sentence(form: QuestionForm, context: Context, case: AnswerCase) -> QuestionForm:
    told = "\n".join(case.all_texts())
    sentences = [sentence for sentence in _SENTENCES if sentence not in told] or list(_SENTENCES)
    return replace(form, sentence=context.random.choice(sentences))


def _form(name: str, change: Callable[..., QuestionForm]) -> Perturbation:
    def apply(case: AnswerCase, context: Context) -> AnswerCase:
        return presented(case, form=change(case.presentation.form or QuestionForm(), context, case))

    return Perturbation(name, apply, fits=wants_answer(name), contextual=True, needs=frozenset({name}))


def _restored(verdict: Verdict, criterion: str) -> Verdict:
    del criterion
    return _OPPOSITE.get(verdict, verdict) if isinstance(verdict, str) else verdict


QUESTION_FORMS: Mapping[str, Callable[[], Perturbation]] = MappingProxyType(
    {
        "alone": alone,
        "irrelevant_sentence": irrelevant_sentence,
        "negated": negated,
        "option_names": option_names,
        "option_order": option_order,
        "two_way_choice": two_way_choice,
    }
)
