"""The names of rules and options, for type checkers and editors. The engine checks them at run time."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Budget = TypedDict("Budget", {"bytes": int, "tokens": int}, total=False)

Rules = TypedDict(
    "Rules",
    {
        "extract": str | None,
        "requires": Sequence[str] | None,
        "json_strings": Sequence[dict[str, Any]] | None,
        "select": Sequence[str] | Mapping[str, str] | None,
        "on_kind": Literal["drop", "keep"] | None,
        "exclude": Sequence[str] | None,
        "omit": Sequence[str] | None,
        "retain": Sequence[str] | None,
        "patches": Sequence[dict[str, Any]] | None,
        "lenient_remove": bool | None,
        "on_test_failure": Literal["fail", "stop"] | None,
        "when": Sequence[dict[str, Any]] | None,
        "otherwise": Literal["pass", "drop", "error"] | None,
        "root": str | None,
        "siblings": Literal["keep", "drop"] | None,
        "where": Sequence[dict[str, Any]] | None,
        "max_items": int | None,
        "stop_early": bool | None,
        "drop_nulls": bool | None,
        "drop_empty": bool | None,
        "omit_base64_over": int | None,
        "text_filter": dict[str, Any] | None,
        "redact": Literal["secrets"] | dict[str, Any] | None,
        "factor": bool | None,
        "budget": Budget | None,
        "min_items": int | None,
        "omitted": Literal["mark", "silent"] | None,
        "on_over": Literal["warn", "error"] | None,
        "prefer": Literal["order", "information"] | None,
        "compact": dict[str, str] | None,
        "encode": Literal["json", "toon", "csv", "markdown"] | None,
        "content": dict[str, Any] | None,
        "on_error": Literal["raw", "closed"] | None,
        "validation": Literal["full", "structure"] | None,
        "whitespace": Literal["minify", "keep"] | None,
        "duplicate_keys": Literal["first", "count", "reject"] | None,
        "allow_raw": bool | None,
    },
    total=False,
)
"""The members of a native spec; see the rules in the guide."""


class CallOptions(TypedDict, total=False):
    """The options of one call."""

    raw: bool | None
    is_error: bool | None
    budget: Budget | None
    min_items: int | None
    omitted: Literal["mark", "silent"]
    on_over: Literal["warn", "error"]
    prefer: Literal["order", "information"] | None
    lines: bool | None
    only_summary: bool | None
    suggestions: bool | None
    depth: int | None
    key: int | None
    held: int | None
    spill: int | None
    item: int | None
    line: int | None


class TextRules(TypedDict, total=False):
    """The rules for lines of text that is not JSON."""

    strip_ansi: bool | None
    strip_lines_matching: Sequence[str] | None
    keep_lines_matching: Sequence[str] | None
    dedup: bool | dict[str, str] | None
    max_lines: int | None
    on_empty: str | None


class TextOptions(TypedDict, total=False):
    """The limits of one call for a text."""

    line: int | None
    held: int | None


class OutputOptions(TypedDict, total=False):
    """The options for the output of a command."""

    max_lines: int | None
    max_tokens: int | None
    full_output: str | None
    notice: bool | None
    held: int | None


class Problem(TypedDict):
    """A problem of a manifest or of rules for commands. Line and column count from 1; 0 if there is none."""

    file: str
    line: int
    column: int
    message: str


class PruneRules(TypedDict, total=False):
    """The rules for old tool results in a chat."""

    keep_turns: int | None
    protected: Sequence[str] | None
    placeholder: str | None
    now: int | None
    protect_tokens: int | None
    minimum_tokens: int | None
    count_tokens: bool | None
    stop_at_summary: bool | None
    keep_head: int | None
    keep_tail: int | None
    min_gain: int | None
    only_shorter: bool | None
