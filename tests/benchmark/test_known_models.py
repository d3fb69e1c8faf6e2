"""A model whose answers are kept can be used without it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.folder import Asked, Journal, known_model
from judgeharness_integrations.judging.chatmodels import Completion, FunctionModel, Prompt

PROMPT = Prompt(step="claims", system="s", user="u", schema={})
OPTIONS = st.dictionaries(st.text(), st.none() | st.integers() | st.floats(allow_nan=False) | st.lists(st.text()))


def answered(journal: Journal, name: str, parameters: dict[str, Any], *, step: str = "claims") -> None:
    model = FunctionModel(function=str, name=name, parameters=parameters)
    prompt = Prompt(step=step, system="s", user="u", schema={})
    journal.add(Asked.of(model, prompt, item="pair-00001", attempt=0), Completion(text="kept"), tries=1)


@settings(max_examples=25)
@given(options=OPTIONS)
def test_its_answers_are_found_whatever_its_options(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, Any]
) -> None:
    with Journal(tmp_path_factory.mktemp("known") / "answers.sqlite") as journal:
        answered(journal, "checker", options)
        model = known_model(journal, "checker", steps=["claims"])
        assert model is not None
        found = journal.find(Asked.of(model, PROMPT, item="pair-00001", attempt=0))
        assert found is not None
        assert found.text == "kept"


def test_other_names_other_steps_and_several_options_are_nobody(tmp_path: Path) -> None:
    with Journal(tmp_path / "answers.sqlite") as journal:
        answered(journal, "checker", {"temperature": 0})
        answered(journal, "checker", {"temperature": 1}, step="blueprints")
        assert known_model(journal, "another", steps=["claims"]) is None
        assert known_model(journal, "checker", steps=["grounding"]) is None
        found = known_model(journal, "checker", steps=["claims"])
        assert found is not None
        assert found.parameters == {"temperature": 0}
        answered(journal, "checker", {"temperature": 2})
        assert known_model(journal, "checker", steps=["claims"]) is None
        with pytest.raises(UsageError, match="no answer of checker to claims is kept: name the model"):
            asyncio.run(found.complete(PROMPT))
