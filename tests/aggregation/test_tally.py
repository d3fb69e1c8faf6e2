"""The one walk over a case's rows counts what separate walks would."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.analysis.aggregation.grouping import tallied
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.aggregation.statistics import independence
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure_criterion
from judgeharness_integrations.judging.execution.answering import _row
from judgeharness_integrations.verdictlog.row import VerdictRow

_LABELS = st.sampled_from(["A", "B", "TIE", None])


@st.composite
def _rows(draw: st.DrawFn) -> list[VerdictRow]:
    given_rows = draw(
        st.lists(
            st.tuples(
                _LABELS,
                st.sampled_from(["none", "position_swap", "format_change"]),
                st.sampled_from([None, "short", "long " * 60]),
                st.sampled_from([{}, {"response_id": "r"}, {"cached": "shared"}, {"parser_conflict": "yes"}]),
            ),
            max_size=12,
        )
    )
    return [
        VerdictRow(
            case_id="c",
            verdict=verdict,
            outcome="ok" if verdict else "refused",
            perturbation=name,
            swapped=name == "position_swap",
            repetition=place,
            raw=raw,
            attributes=attributes,
        )
        for place, (verdict, name, raw, attributes) in enumerate(given_rows)
    ]


@given(_rows())
def test_the_distribution_is_what_a_counter_finds_most_frequent_first(rows: list[VerdictRow]) -> None:
    expected = Counter(row.verdict for row in rows if row.verdict is not None)
    assert list(tallied(rows).counts.items()) == expected.most_common()


@given(_rows())
def test_each_perturbation_is_counted_as_its_rows_alone_would_be(rows: list[VerdictRow]) -> None:
    def alone(name: str) -> tuple[object, ...]:
        group = [row for row in rows if row.perturbation == name]
        valid = [row for row in group if row.verdict is not None]
        return len(group), valid, Counter(row.verdict for row in valid).most_common(), any(r.swapped for r in group)

    counted = tallied(rows).perturbations
    assert {n: (o.asked, o.valid, list(o.counts.items()), o.swapped) for n, o in counted.items()} == {
        name: alone(name) for name in dict.fromkeys(row.perturbation for row in rows)
    }


@given(_rows(), st.sampled_from([None, 0.0]))
def test_a_measurement_says_of_independence_what_its_rows_say(
    rows: list[VerdictRow], temperature: float | None
) -> None:
    design = Design(perturbations=("none",), repetitions=1, rule=rule("majority"))
    measured = measure_criterion(rows, criterion="verdict", design=design, temperature=temperature)
    assert measured.independence == independence(rows, temperature=temperature)


def test_a_drafted_row_is_the_row_its_own_class_makes() -> None:
    made = VerdictRow(case_id="c", verdict="A", reasoning="why", attributes={"x": 1})
    drafted = _row(*(getattr(made, name) for name in VerdictRow.__dataclass_fields__))
    assert (type(drafted), drafted) == (VerdictRow, made)
