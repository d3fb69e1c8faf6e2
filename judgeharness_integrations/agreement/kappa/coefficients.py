"""Cohen's and Fleiss' kappa, Krippendorff's alpha, Gwet's AC1 and AC2, each with a bootstrap interval."""

from __future__ import annotations

from collections.abc import Callable

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.agreement.kappa.alpha import Metric, alpha_statistic, unfit_for_alpha
from judgeharness_integrations.agreement.kappa.bootstrap import Bootstrap
from judgeharness_integrations.agreement.kappa.chance import fleiss_statistic, gwet_statistic, unfit_for_categories
from judgeharness_integrations.agreement.kappa.coefficient import Coefficient
from judgeharness_integrations.agreement.kappa.measuring import Sample, measure, unmeasured
from judgeharness_integrations.agreement.kappa.pairs import pairwise
from judgeharness_integrations.agreement.kappa.prior import with_prior
from judgeharness_integrations.agreement.kappa.ratings import Ratings, Weights
from judgeharness_integrations.agreement.kappa.statistic import Statistic
from judgeharness_integrations.agreement.kappa.units import Units

__all__ = ["alpha", "cohen", "fleiss", "gwet"]

_PAIR = 2
_DEFAULT = Bootstrap()
_UNANIMOUS = "every answer is the same, so chance alone could agree as much"


def cohen(ratings: Ratings, *, weights: Weights = "none", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Cohen's kappa of two raters over the items both answered (Cohen 1960; weighted: Cohen 1968).

    Args:
        ratings: of exactly two raters.
        weights: `linear` and `quadratic` count partial agreement by distance on the scale.
        bootstrap: how the interval is drawn.

    Raises:
        UsageError: there are not two raters.

    """
    if ratings.raters != _PAIR:
        raise UsageError(f"Cohen's kappa is of two raters, not of {ratings.raters}: use Fleiss' kappa or alpha.")
    return pairwise(ratings, [(0, 1)], weights=weights, bootstrap=bootstrap)[0][0]


def fleiss(ratings: Ratings, *, weights: Weights = "none", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Fleiss' kappa of all raters, in Gwet's generalisation to missing answers.

    Every item counts the same, however many answered about it; an item with one answer enters the expected agreement
    alone (Gwet 2014, section 2.4). With equally many answers per item it is Fleiss' own (Fleiss 1971).
    """
    return _of_group(
        _sample("fleiss", weights, ratings),
        unfit_for_categories(ratings),
        lambda ratings, units: fleiss_statistic(ratings, units, weights),
        bootstrap,
    )


def gwet(ratings: Ratings, *, weights: Weights = "none", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Gwet's AC1 of all raters, with weights AC2 (Gwet 2008; 2014, chapters 4 and 5).

    It depends on how many categories there are: those of `ratings`, declared or seen. Missing answers as in `fleiss`.
    """
    return _of_group(
        _sample("gwet", weights, ratings),
        unfit_for_categories(ratings),
        lambda ratings, units: gwet_statistic(ratings, units, weights),
        bootstrap,
    )


def alpha(ratings: Ratings, *, metric: Metric = "nominal", bootstrap: Bootstrap = _DEFAULT) -> Coefficient:
    """Return Krippendorff's alpha of all raters (Krippendorff 2011); items with one answer are left out.

    Args:
        ratings: any number of raters; metrics other than nominal take the categories as ordered.
        metric: how far two answers lie apart.
        bootstrap: how the interval is drawn.

    """
    return _of_group(
        _sample("alpha", metric, ratings),
        unfit_for_alpha(ratings, metric),
        lambda ratings, units: alpha_statistic(ratings, units, metric),
        bootstrap,
    )


def _sample(name: str, weights: str, ratings: Ratings) -> Sample:
    return Sample(name=name, weights=weights, ratings=ratings, raters=range(ratings.raters), undefined=_UNANIMOUS)


def _of_group(
    sample: Sample, reason: str, statistic: Callable[[Ratings, Units], Statistic], bootstrap: Bootstrap
) -> Coefficient:
    if reason:
        return unmeasured(sample, reason)
    ratings, units = with_prior(sample.ratings, everyone=False)
    return measure(statistic(ratings, units), units, [sample], bootstrap)[0][0]
