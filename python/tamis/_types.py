"""The names of rules and options, for type checkers and editors. The engine checks them at run time."""

from typing import Any, Literal, TypedDict

Budget = TypedDict("Budget", {"bytes": int, "tokens": int}, total=False)

Rules = TypedDict(
    "Rules",
    {
        "extract": str,
        "requires": list[str],
        "json_strings": list[dict[str, Any]],
        "select": list[str] | dict[str, str],
        "on_kind": Literal["drop", "keep"],
        "exclude": list[str],
        "omit": list[str],
        "retain": list[str],
        "patches": list[dict[str, Any]],
        "lenient_remove": bool,
        "on_test_failure": Literal["fail", "stop"],
        "when": list[dict[str, Any]],
        "otherwise": Literal["pass", "drop", "error"],
        "root": str,
        "siblings": Literal["keep", "drop"],
        "where": list[dict[str, Any]],
        "max_items": int,
        "stop_early": bool,
        "drop_nulls": bool,
        "drop_empty": bool,
        "omit_base64_over": int,
        "text_filter": dict[str, Any],
        "redact": Literal["secrets"] | dict[str, Any],
        "factor": bool,
        "budget": Budget,
        "min_items": int,
        "omitted": Literal["mark", "silent"],
        "on_over": Literal["warn", "error"],
        "prefer": Literal["order", "information"],
        "compact": dict[str, str],
        "encode": Literal["json", "toon", "csv", "markdown"],
        "content": dict[str, Any],
        "on_error": Literal["raw", "closed"],
        "validation": Literal["full", "structure"],
        "whitespace": Literal["minify", "keep"],
        "duplicate_keys": Literal["first", "count", "reject"],
        "allow_raw": bool,
    },
    total=False,
)
"""The members of a native spec; see the rules in the guide."""


class CallOptions(TypedDict, total=False):
    """The options of one call."""

    raw: bool
    is_error: bool
    budget: Budget
    min_items: int
    omitted: Literal["mark", "silent"]
    on_over: Literal["warn", "error"]
    prefer: Literal["order", "information"]
    lines: bool
    only_summary: bool
    suggestions: bool
    depth: int
    key: int
    held: int
    spill: int
    item: int
    line: int


class TextRules(TypedDict, total=False):
    """The rules for lines of text that is not JSON."""

    strip_ansi: bool
    strip_lines_matching: list[str]
    keep_lines_matching: list[str]
    dedup: bool | dict[str, str]
    max_lines: int
    on_empty: str


class TextOptions(TypedDict, total=False):
    """The limits of one call for a text."""

    line: int
    held: int


class OutputOptions(TypedDict, total=False):
    """The options for the output of a command."""

    max_lines: int
    max_tokens: int
    full_output: str
    notice: bool
    held: int


class Problem(TypedDict):
    """A problem of a manifest or of rules for commands. Line and column count from 1; 0 if there is none."""

    file: str
    line: int
    column: int
    message: str


class PruneRules(TypedDict, total=False):
    """The rules for old tool results in a chat."""

    keep_turns: int
    protected: list[str]
    placeholder: str
    now: int
    protect_tokens: int
    minimum_tokens: int
    count_tokens: bool
    stop_at_summary: bool
    keep_head: int
    keep_tail: int
    min_gain: int
