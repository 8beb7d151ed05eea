"""The types of the extension module."""

from os import PathLike
from typing import Any, Protocol, Self, TypeAlias, Unpack, final

from ._types import CallOptions, OutputOptions, PruneRules, Rules

_Data: TypeAlias = bytes | bytearray | memoryview | str

class _Reader(Protocol):
    def read(self, size: int, /) -> bytes | str: ...

class _Writer(Protocol):
    def write(self, data: bytes, /) -> Any: ...

class Error(Exception):
    """A failed run, rules that cannot be compiled, or a manifest that cannot be read."""

    kind: str
    """`syntax`, `unexpected_end`, `encoding`, `limit`, `miss`, `duplicate`, `patch`, `budget`, `spec`, `read`, `write`,
    `spill`, `failed`, `internal`; for manifests also `manifest`, `unknown_tool`, `ambiguous`."""
    fault: str
    """Who has to act: `input`, `spec`, `limit`, `sink`, `caller` or `bug`."""
    offset: int | None
    """The byte of the input at which the run failed."""
    path: str
    """The JSON Pointer of the value in which the run failed."""
    limit: str | None
    """The name of the reached limit."""
    message: str
    """The message without the place."""
    output: bytes
    """What the failed call of a stream wrote before it failed; of lines, the output of the other lines."""
    report: dict[str, Any] | None
    """The report of the failed run."""
    problems: list[dict[str, Any]]
    """The problems of a manifest: `file`, `line`, `column`, `message`."""

@final
class Program:
    """A compiled filter. Immutable; any number of threads can use it at once."""

    def __new__(cls, rules: Rules | dict[str, Any] | None = None, /, **more: Unpack[Rules]) -> Self: ...
    def filter(self, data: _Data, **options: Unpack[CallOptions]) -> bytes: ...
    def filter_with_report(
        self, data: _Data, **options: Unpack[CallOptions]
    ) -> tuple[bytes, dict[str, Any]]: ...
    def filter_lines(self, data: _Data, **options: Unpack[CallOptions]) -> bytes: ...
    def stream(self, **options: Unpack[CallOptions]) -> Stream: ...
    def filter_file(
        self,
        reader: str | PathLike[str] | _Reader,
        writer: _Writer,
        **options: Unpack[CallOptions],
    ) -> dict[str, Any]: ...
    def explain(self, **options: Unpack[CallOptions]) -> str: ...
    @property
    def removes_for_safety(self) -> bool: ...
    @property
    def spec(self) -> dict[str, Any]: ...

@final
class Stream:
    """A run that bytes are pushed into."""

    def write(self, data: _Data) -> bytes: ...
    def end(self) -> bytes: ...
    @property
    def done(self) -> bool: ...
    @property
    def report(self) -> dict[str, Any]: ...

@final
class Manifest:
    """A file with the filters of many tools."""

    def __new__(cls, source: str | PathLike[str]) -> Self: ...
    @staticmethod
    def parse(text: str, name: str = "manifest") -> Manifest: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Manifest: ...
    @staticmethod
    def catalog() -> Manifest: ...
    def program(self, tool: str) -> Program: ...
    def find(self, tool: str) -> Program | None: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    def __contains__(self, tool: str) -> bool: ...

def filter_output_with_report(
    command: str, output: _Data, exit_code: int | None = None, **options: Unpack[OutputOptions]
) -> tuple[bytes, dict[str, Any]]: ...
def prune_with_report(
    history: _Data, **rules: Unpack[PruneRules]
) -> tuple[bytes, dict[str, Any]]: ...
