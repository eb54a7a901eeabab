"""Logs of coding agents as tapes and Arrow tables.

A log is what an agent such as Claude Code or Codex writes of a session. A tape is the same as one stream of events, whatever the harness.
`docs/tape-format.md` of the project says what events there are.
"""

from collections.abc import Iterator
from os import PathLike
from typing import Any, Literal, final

Policy = Literal["strict", "permissive"]
"""`strict` refuses unknown versions and records, `permissive` converts the rest and marks them."""

Table = Literal["events", "tapes", "sessions", "prompts", "calls", "edits", "usage"]
"""The tables of `docs/tables.md`."""

__version__: str

class EngramError(Exception):
    """A log cannot be converted."""

    code: str
    """The reason, such as `unknown_harness`. `docs/errors.md` lists all."""
    path: str | None
    line: int | None

@final
class Detected:
    """The harness that wrote a log."""

    path: str
    """Ends with `#` and an id for a session of a store."""
    harness: str
    version: str | None
    schema: str | None
    """The named format of the log; `None` if its version has not been tested."""
    support: str
    session_id: str | None
    agent_id: str | None
    """The sub-agent that the log is of."""
    evidence: list[str]
    """The marks in the log that prove the harness."""

@final
class Unit:
    """A session with its sub-agents and side files, or one session of a store: what can be converted alone. Can be pickled."""

    @property
    def unit(self) -> str:
        """Its id, which stays when the session grows."""
    @property
    def harness(self) -> str: ...
    @property
    def session(self) -> str | None: ...
    @property
    def paths(self) -> list[str]:
        """What is converted: the logs, or the store."""
    @property
    def beside(self) -> list[str]:
        """Files and directories that these are read with. Who copies a unit copies them too."""
    @property
    def in_store(self) -> bool: ...
    @property
    def bytes(self) -> int:
        """The size of all its files."""
    @property
    def state(self) -> str:
        """A hash of names, sizes and times of all its files: if it is the same, nothing has changed."""
    def to_json(self) -> str:
        """The unit as `engram-lab units --json` prints it."""
    @classmethod
    def from_json(cls, text: str) -> Unit: ...
    def __hash__(self) -> int: ...

@final
class Schema:
    """The columns of a table. pyarrow and others take them as they are, by the Arrow C interface."""

    def __arrow_c_schema__(self) -> object: ...

@final
class Batches:
    """Rows of a table. pyarrow, polars, DuckDB and others take them as they are, by the Arrow C interface."""

    def __len__(self) -> int:
        """The number of rows."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Events(Iterator[dict[str, Any]]):
    """The events of a tape, each parsed when it is asked for."""

    def __iter__(self) -> Events: ...
    def __next__(self) -> dict[str, Any]: ...

@final
class Tape:
    """The events of one log."""

    name: str
    """`<harness>/<session>`, and `.<agent>` for a sub-agent. The rows of its tables have it as `tape`."""
    harness: str
    version: str | None
    session_id: str | None
    agent_id: str | None
    path: str
    input_bytes: int
    """The size of the log, decompressed."""
    def events(self) -> Events: ...
    def arrow(self, table: Table = "events") -> Batches:
        """The rows of a table."""
    def to_bytes(self) -> bytes:
        """The tape as `engram ingest` writes it: a JSON object a line."""
    def __len__(self) -> int:
        """The number of its events."""

def detect(path: str | PathLike[str]) -> list[Detected]:
    """Which harness wrote the logs at a path: a file, a store, or a directory to search for both.

    Raises `EngramError` for the first log that cannot be opened, and `unknown_harness` for a file that no harness wrote.
    """

def units(path: str | PathLike[str]) -> list[Unit]:
    """What can be converted alone at a path: a file, a store, or a directory to search for both.

    Logs that cannot be opened are left out. If no other is there, their error is raised.
    """

def ingest(unit: Unit, *, policy: Policy = "permissive") -> list[Tape]:
    """The tapes of a unit: that of the session and those of its sub-agents. Other threads run meanwhile.

    Raises `EngramError` for the first log that cannot be converted.
    """

def convert(data: bytes, *, policy: Policy = "permissive") -> bytes:
    """The tape of one log in memory. What its side files say is missing. Other threads run meanwhile.

    Raises `EngramError`.
    """

def schema(table: Table = "events") -> Schema:
    """The columns of a table, which are the same for all tapes."""
