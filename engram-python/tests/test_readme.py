"""The examples of README.md are run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_and_prints(example, codex_home, capsys):
    if "polars" in example:
        pytest.importorskip("polars")
    exec(compile(example, str(README), "exec"), {"LOGS": codex_home})
    assert "codex" in capsys.readouterr().out


def test_there_are_examples():
    assert len(EXAMPLES) == 2
