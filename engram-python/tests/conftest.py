"""The fixtures of the repository: recorded sessions of all harnesses."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"


def homes() -> list[Path]:
    """The directories of recorded sessions, one for each recording."""
    return sorted(path for path in FIXTURES.glob("[!_]*/*/*/session") if path.is_dir())


@pytest.fixture(scope="session")
def codex_home() -> Path:
    return FIXTURES / "codex/0.169.0/main/session"


@pytest.fixture(scope="session")
def codex_log(codex_home: Path) -> Path:
    (log,) = codex_home.rglob("rollout-*.jsonl")
    return log
