"""Where the imports of a rewritten file go, and what the names are called there."""

from __future__ import annotations

from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from rewriting_bench import after

CALL = 'load_evaluator("qa", llm=llm)'


def top(text: str, lines: int) -> list[str]:
    return after(text).splitlines()[:lines]


def test_behind_the_docstring_and_the_future_in_the_block_of_the_framework() -> None:
    text = f'''\
        #!/usr/bin/env python3
        """Doc."""
        from __future__ import annotations

        import os

        from aaa import first
        from langchain_classic.evaluation import load_evaluator
        from zzz import last

        judge = {CALL}
        '''
    assert top(text, 11) == [
        "#!/usr/bin/env python3",
        '"""Doc."""',
        "from __future__ import annotations",
        "",
        "import os",
        "",
        "from aaa import first",
        "from judgeharness_integrations import JudgeHarness",
        "from judgeharness_langchain import harness_evaluator",
        "from langchain_classic.evaluation import load_evaluator",
        "from zzz import last",
    ]


def test_behind_a_line_whose_comment_speaks_of_it() -> None:
    text = f"""\
        import os

        # the judges
        from langchain_classic.evaluation import load_evaluator
        judge = {CALL}
        """
    assert top(text, 6)[2:] == [
        "# the judges",
        "from langchain_classic.evaluation import load_evaluator",
        "from judgeharness_integrations import JudgeHarness",
        "from judgeharness_langchain import harness_evaluator",
    ]


def test_not_before_the_future_where_no_blank_line_divides_them() -> None:
    text = f"""\
        from __future__ import annotations
        from langchain_classic.evaluation import load_evaluator
        judge = {CALL}
        """
    assert top(text, 2)[1] == "from judgeharness_integrations import JudgeHarness"


def test_behind_plain_imports() -> None:
    text = f"import langchain_classic.evaluation\njudge = langchain_classic.evaluation.{CALL}\n"
    assert top(text, 3) == [
        "import langchain_classic.evaluation",
        "from judgeharness_integrations import JudgeHarness",
        "from judgeharness_langchain import harness_evaluator",
    ]


def test_a_function_that_imports_for_itself_gets_its_own() -> None:
    text = f"""\
        import os

        def make(llm):
            from langchain_classic.evaluation import load_evaluator

            return {CALL}
        """
    changed = after(text)
    assert changed.startswith("import os\n\ndef make(llm):\n    from judgeharness_integrations import JudgeHarness\n")
    assert changed.count("import harness_evaluator") == 1


def test_what_the_module_imports_its_functions_need_not() -> None:
    text = f"""\
        def make(llm):
            from langchain_classic.evaluation import load_evaluator

            return {CALL}

        from langchain_classic.evaluation import load_evaluator
        judge = {CALL}
        """
    assert after(text).count("import harness_evaluator") == 1


def test_a_function_inside_with_gets_them_there() -> None:
    text = f"""\
        def make(llm):
            with quiet():
                from langchain_classic.evaluation import load_evaluator
            return {CALL}
        """
    assert "\n        from judgeharness_langchain import harness_evaluator\n        from langchain_classic" in after(
        text
    )


@pytest.mark.parametrize("first", ["import os\n", ""])
def test_an_import_that_is_tried_keeps_ours_before_it(first: str) -> None:
    tried = (
        "try:\n    from langchain_classic.evaluation import load_evaluator\n"
        "except ImportError:\n    from langchain.evaluation import load_evaluator\n"
    )
    changed = after(f"{first}{tried}\njudge = {CALL}\n")
    ours = "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langchain import harness_evaluator\n"
    assert changed.startswith(f"{first}{ours}try:\n")


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("try:", "except ImportError:\n    create_llm_as_judge = None\n"),
        ("if find_spec('openevals'):", ""),
        ("if find_spec('openevals'):", "else:\n    create_llm_as_judge = None\n"),
    ],
)
def test_what_is_not_installed_everywhere_takes_our_adapter_with_it(head: str, tail: str) -> None:
    tried = f"{head}\n    from openevals.llm import create_llm_as_judge\n"
    made = "create_llm_as_judge(prompt=P, judge=model)"
    used = f"if create_llm_as_judge is not None:\n    judge = {made}\n"
    changed = after(f"import os\n{tried}{tail}\n{used}")
    assert changed.startswith(
        "import os\nfrom judgeharness_integrations import JudgeHarness\n"
        f"{tried}    from judgeharness_openevals import harness_judge\n{tail}"
    )
    assert f"judge = harness_judge({made}, JudgeHarness.single(" in changed


@pytest.mark.parametrize(
    "tail",
    ["except ImportError:\n    sys.exit('no openevals')\n", "except ImportError:\n    pytest.skip('no')\n"],
)
def test_where_nothing_goes_on_without_it_ours_stays_at_the_top(tail: str) -> None:
    tried = f"try:\n    from openevals.llm import create_llm_as_judge\n{tail}"
    changed = after(f"import os\n{tried}judge = create_llm_as_judge(prompt=P)\n")
    assert changed.startswith("import os\nfrom judgeharness_integrations import JudgeHarness\nfrom judgeharness_open")


def test_without_another_import_they_go_behind_the_docstring() -> None:
    tried = "try:\n    from langchain_classic.evaluation import load_evaluator\nexcept ImportError:\n    raise\n"
    changed = after(f'"""Doc."""\n{tried}judge = {CALL}\n')
    assert changed.startswith('"""Doc."""\n\nfrom judgeharness_integrations import JudgeHarness\nfrom judgeharness_l')


def test_names_that_are_imported_are_used() -> None:
    text = f"""\
        import judgeharness_integrations as jh
        from judgeharness_langchain import harness_evaluator as measured
        from langchain_classic.evaluation import load_evaluator
        judge = {CALL}
        """
    changed = after(text)
    assert f'judge = measured({CALL}, jh.JudgeHarness.single("labels"))' in changed
    assert changed.count("import") == 3


def test_names_that_are_taken_get_an_alias() -> None:
    text = f"""\
        from langchain_classic.evaluation import load_evaluator
        from hotel import JudgeHarness
        harness_evaluator = harness_evaluator_ = None
        judge = {CALL}
        """
    changed = after(text)
    assert "from judgeharness_integrations import JudgeHarness as JudgeHarness_\n" in changed
    assert "from judgeharness_langchain import harness_evaluator as harness_evaluator__\n" in changed
    assert f'judge = harness_evaluator__({CALL}, JudgeHarness_.single("labels"))' in changed


def test_a_name_for_type_checkers_alone_is_imported_again_and_keeps_its_name() -> None:
    text = f"""\
        from typing import TYPE_CHECKING

        from langchain_classic.evaluation import load_evaluator

        if TYPE_CHECKING:
            from judgeharness_integrations import JudgeHarness
        judge = {CALL}
        """
    changed = after(text)
    assert changed.count("from judgeharness_integrations import JudgeHarness\n") == 2
    assert 'JudgeHarness.single("labels")' in changed


def test_star_imports_and_aliases_are_followed() -> None:
    star = after(f"from langchain_classic.evaluation import *\njudge = {CALL}\n")
    assert star.startswith("from judgeharness_integrations import JudgeHarness\n")
    alias = after(
        "from langchain_classic import evaluation as ev\nload = ev.load_evaluator\njudge = load('qa', llm=m)\n"
    )
    assert "judge = harness_evaluator(load('qa', llm=m), JudgeHarness.single('labels'))" in alias


def test_a_file_that_ends_in_its_import_gets_a_line_of_its_own() -> None:
    text = (
        "def make():\n    return load_evaluator('qa', llm=m)\n# late\nfrom langchain.evaluation import load_evaluator"
    )
    changed = after(text)
    assert changed.endswith(
        "# late\nfrom langchain.evaluation import load_evaluator\n"
        "from judgeharness_integrations import JudgeHarness\nfrom judgeharness_langchain import harness_evaluator"
    )


def test_notebooks_keep_their_cells() -> None:
    text = dedent(
        f"""\
        # In[1]:
        import os

        # In[2]:
        from langchain_classic.evaluation import load_evaluator

        # In[3]:
        judge = {CALL}
        """
    )
    changed = after(text)
    assert changed.startswith(
        "# In[1]:\nimport os\n\n# In[2]:\nfrom langchain_classic.evaluation import load_evaluator\n"
    )
