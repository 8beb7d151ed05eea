"""A streaming filter for tool output: keeps the fields you declare and drops the rest.

>>> import tamis
>>> program = tamis.Program(select=["id", "owner.login"], max_items=1)
>>> program.filter('[{"id": 7, "owner": {"login": "mira", "id": 1}}, {"id": 8}]')
b'[{"id":7,"login":"mira"}]'

`filter_tool` wraps the function of a tool. `Program` filters JSON documents, `TextProgram` lines of text, `OutputFilters` and `filter_output` the output of commands, `prune`
chats, and a `Manifest` has the programs of many tools. `restore` returns a document that was factored. Failures raise `Error`, with `kind`, `offset` and `path`. The module
`tamis.adapters` has middleware and wrappers for FastMCP, LangChain, OpenAI Agents, LiteLLM, ContextForge, httpx and ASGI.
"""

import functools as _functools
import json as _json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from ._reports import (
    Factored,
    FailureReport,
    InnerReport,
    LeftOut,
    OutputReport,
    PrunedTool,
    PruneReport,
    Report,
    TextReport,
)
from ._tamis import Error, Manifest, OutputFilters, Program, Stream, TextProgram, prune_with_report, restore_bytes
from ._tamis import __version__ as _version
from ._types import (
    Budget,
    CallOptions,
    OutputOptions,
    Problem,
    PruneRules,
    Rules,
    TextOptions,
    TextRules,
)

if TYPE_CHECKING:
    from .adapters import ToolFilters

__version__ = _version
_Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = [
    "Budget",
    "CallOptions",
    "Error",
    "Factored",
    "FailureReport",
    "InnerReport",
    "LeftOut",
    "Manifest",
    "OutputFilters",
    "OutputOptions",
    "OutputReport",
    "Problem",
    "Program",
    "PruneReport",
    "PruneRules",
    "PrunedTool",
    "Report",
    "Rules",
    "Stream",
    "TextOptions",
    "TextProgram",
    "TextReport",
    "TextRules",
    "__version__",
    "filter_output",
    "filter_output_with_report",
    "filter_tool",
    "prune",
    "prune_with_report",
    "restore",
]

Error.__module__ = "tamis"
_DEFAULTS: dict[str, Any] = {
    "kind": "failed",
    "fault": "caller",
    "offset": None,
    "path": "",
    "limit": None,
    "message": "",
    "output": b"",
    "report": None,
    "problems": [],
}
"""The attributes of an error that a program makes itself."""
for _name in _DEFAULTS:
    setattr(Error, _name, _DEFAULTS[_name])
_BUILTIN = OutputFilters()


def filter_output_with_report(
    command: str,
    output: bytes | bytearray | memoryview | str,
    exit_code: int | None = None,
    **options: Unpack[OutputOptions],
) -> tuple[bytes, OutputReport]:
    """Filter the output of a command with the built-in filters, and return it with the report."""
    return _BUILTIN.filter_with_report(command, output, exit_code, **options)


@overload
def filter_output(
    command: str, output: str, exit_code: int | None = None, **options: Unpack[OutputOptions]
) -> str: ...
@overload
def filter_output(
    command: str,
    output: bytes | bytearray | memoryview,
    exit_code: int | None = None,
    **options: Unpack[OutputOptions],
) -> bytes: ...
def filter_output(
    command: str,
    output: str | bytes | bytearray | memoryview,
    exit_code: int | None = None,
    **options: Unpack[OutputOptions],
) -> str | bytes:
    """Filter the output of a command with the built-in filters; text in, text out.

    Output of a command without a filter is passed through. `max_lines` and `max_tokens` limit any output.
    """
    filtered = _BUILTIN.filter(command, output, exit_code, **options)
    # Filters cut text between characters only.
    return filtered.decode("utf-8", "replace") if isinstance(output, str) else filtered


@overload
def prune(messages: bytes, **rules: Unpack[PruneRules]) -> bytes: ...
@overload
def prune(messages: str, **rules: Unpack[PruneRules]) -> str: ...
@overload
def prune(messages: list[Any], **rules: Unpack[PruneRules]) -> list[Any]: ...
@overload
def prune(messages: dict[str, Any], **rules: Unpack[PruneRules]) -> dict[str, Any]: ...
def prune(messages: Any, **rules: Unpack[PruneRules]) -> Any:
    """Replace old tool results in a chat by placeholders, and change nothing else.

    `messages` is a list of messages, or a request with `messages`, `input` or `contents`. JSON text (`str`, `bytes`) is
    pruned byte for byte. The formats of OpenAI, Anthropic, Gemini and the AI SDK are recognized.
    """
    if isinstance(messages, bytes):
        return prune_with_report(messages, **rules)[0]
    if isinstance(messages, str):
        return prune_with_report(messages, **rules)[0].decode()
    text = _json.dumps(messages, ensure_ascii=False, separators=(",", ":"))
    return _json.loads(prune_with_report(text, **rules)[0])


@overload
def restore(document: str) -> str: ...
@overload
def restore(document: bytes | bytearray | memoryview) -> bytes: ...
def restore(document: str | bytes | bytearray | memoryview) -> str | bytes:
    """Restore a document that the rule `factor` wrote: all values are the same again. Text in, text out.

    Members of objects may have another order than before. A document that is not factored is returned unchanged.
    """
    restored = restore_bytes(document)
    return restored.decode() if isinstance(document, str) else restored


@overload
def filter_tool(
    function: _Function,
    rules: "Program | Rules | Manifest | ToolFilters",
    /,
    *,
    name: str | None = None,
) -> _Function: ...
@overload
def filter_tool(
    rules: "Program | Rules | Manifest | ToolFilters",
    /,
    *,
    name: str | None = None,
) -> Callable[[_Function], _Function]: ...
def filter_tool(function: Any, rules: Any = None, /, *, name: str | None = None) -> Any:
    """Return a function that calls `function` and filters what it returns.

    >>> import tamis
    >>> @tamis.filter_tool({"select": ["id", "title"]})
    ... def search(text: str) -> list[dict]:
    ...     "Search issues."
    ...     return [{"id": 1, "title": text, "body": "long"}]
    >>> search("crash"), search.__name__, search.__doc__
    ([{'id': 1, 'title': 'crash'}], 'search', 'Search issues.')

    `filter_tool(function, rules)` and the decorator `@filter_tool(rules)` are the same. `rules` is a program, rules, a manifest, or
    `ToolFilters`, in which the name of the function counts unless there is a `name`. If they have no filter of that name, `Error` is
    raised. Name, documentation and parameters stay, so that a framework makes the same schema. The function may be async, or a generator, each of whose values is filtered on its own.

    A result is a text, bytes, a value that JSON has a form for, a dataclass, a model of pydantic, or a result of MCP
    (`{"content": [{"type": "text", …}]}`), whose texts are filtered. Objects become dictionaries.

    A filter that only saves never breaks a call: if it fails, the original passes. If a filter that removes for safety cannot be
    applied, a sentence takes the place of the result, or of the message of an exception.
    """
    from ._function import wrapped

    if rules is not None:
        return wrapped(function, rules=rules, name=name)
    if callable(function):
        raise TypeError("filter_tool: the rules are missing")
    return _functools.partial(wrapped, rules=function, name=name)
