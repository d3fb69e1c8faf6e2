"""How any model is set, by its attributes alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel

from judgeharness_integrations.judging.chatmodels import model_name, model_parameters


class Address:
    """A URL as HTTPX has it."""

    host = "a.org"

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ({"base_url": "https://user:secret@example.org:8080/v1/?key=secret"}, {"endpoint": "example.org:8080/v1"}),
        ({"base_url": urlsplit("https://a.org")}, {}),
        ({"base_url": Address("https://a.org:80/v1/")}, {"endpoint": "a.org:80/v1"}),
        ({"base_url": "https://example.org:port/v1"}, {}),
        ({"temperature": 0.0, "stop": [], "seed": None}, {"temperature": 0.0}),
        ({"model_kwargs": {"api_key": "sk-1", "n": 2}}, {"model_kwargs": {"n": 2}}),
    ],
)
def test_parameters_hold_what_matters_and_no_secret(model: dict[str, Any], parameters: dict[str, Any]) -> None:
    assert model_parameters(SimpleNamespace(**model)) == parameters


class Answer(BaseModel):
    grade: int = 1


def test_any_value_is_told_as_json_or_not_at_all() -> None:
    model = SimpleNamespace(
        response_format=Answer, reasoning=Answer(), truncation=str, top_p=float("inf"), seed=object()
    )
    assert model_parameters(model) == {
        "response_format": Answer.model_json_schema(),
        "reasoning": {"grade": 1},
        "truncation": "str",
        "top_p": "inf",
    }


def test_what_is_told_wins_and_does_not_touch_the_model() -> None:
    told = {"temperature": 1.0, "stream": True}
    assert model_parameters(SimpleNamespace(temperature=0.5, top_p=0.9), told) == {"temperature": 1.0, "top_p": 0.9}
    assert told == {"temperature": 1.0, "stream": True}


def test_a_model_has_the_name_its_provider_gave_it() -> None:
    assert model_name(SimpleNamespace(model_name=None, model="", deployment_name="mine")) == "mine"
    assert model_name(SimpleNamespace(model=3)) is None
