"""The types of reports, for type checkers and editors. Reports are dictionaries. Keys that do not apply are
left out.

Written by tests/engine/report_types.rs from the structs of the library.
"""

from typing import Literal, TypedDict


class FailureReport(TypedDict, total=False):
    """The error of a failed run in a report."""

    kind: str
    """The kind of the error."""
    offset: int
    """The byte of the input at which the run failed."""
    path: str
    """The JSON Pointer of the value in which the run failed."""
    message: str
    """The message, followed by the name of the limit or by the error of the operating system, if there is one."""


class Factored(TypedDict, total=False):
    """The contents of a factored document."""

    all: int
    """The members in `_all`."""
    made: int
    """The members in `_made`."""
    refs: int
    """The references."""
    bytes: int
    """The bytes that the document is shorter."""


class InnerReport(TypedDict, total=False):
    """The report of one entry of `json_strings`: the sums over all strings at its pointer."""

    at: str
    """The pointer of the entry."""
    filtered: int
    """Number of strings whose JSON was filtered."""
    not_json: int
    """Number of values that are not strings with JSON, and were kept or dropped."""
    filter_original_bytes: int
    """Number of bytes of the filtered texts, after unescaping."""
    filter_result_bytes: int
    """Number of bytes of the texts that are left, before escaping."""
    items_seen: int
    """Number of elements of the payloads."""
    items_kept: int
    """Number of elements that are left."""
    where_dropped: int
    """Number of elements that `where` dropped."""
    kind_kept: int
    """Number of values that `on_kind: keep` kept although they are of another kind than a path needs."""
    omitted_members: int
    """Number of values that `omit` left out."""
    projection_skipped: int
    """Number of values that projections left out, because they are not objects."""
    filter_partial_miss: list[str]
    """Selected paths that none of the texts has."""
    filter_error: str
    """The first warning that rules did not apply to a text."""
    compact_error: str
    """The first reason why `compact` left a text unchanged."""
    budget_applied: bool
    """Whether a budget shortened a text."""
    budget_exceeded: bool
    """Whether a text exceeds its budget."""
    patches_applied: int
    """Number of operations of `patches` that were applied."""
    duplicates_dropped: int
    """Number of members that were dropped because their name occurred before."""
    tail_unread: bool
    """Whether the rest of a text was neither read nor validated."""
    redacted: dict[str, int]
    """Number of replaced values, by kind."""
    inner: list["InnerReport"]
    """The reports of the entries of `json_strings` inside the texts."""


class LeftOut(TypedDict, total=False):
    """The part of pages that a `content` filter left out."""

    blocks: int
    """The number of blocks of text: paragraphs, headings, items, cells."""
    words: int
    """The number of their words. In scripts without spaces, every character counts."""


class CutPlace(TypedDict, total=False):
    """A container or a string of which a part was left out."""

    pointer: str
    """Its place in the filtered document, as a JSON Pointer."""
    unit: Literal["items", "members", "bytes"]
    """The unit of the numbers."""
    shown: int
    """How many of them are shown, and of how many."""
    of: int
    """The number before the cut."""
    gap: list[int]
    """The numbers of the first and the last one that is left out, counted from 0. Others between them may be shown."""


class KeptParts(TypedDict, total=False):
    """Parts of a document that a budget kept for one reason: values, short values that follow each other, and passages
    of strings."""

    reason: Literal["around", "spread", "failure", "end", "query", "information"]
    """Why they were kept."""
    parts: int
    """Their number."""
    bytes: int
    """Their size in the filtered document."""
    at: list[str]
    """Where the first of them are, as JSON Pointers: at most three places."""


class BudgetCuts(TypedDict, total=False):
    """The parts that a budget left out with `Information`."""

    items: int
    """The number of elements that are missing from arrays."""
    members: int
    """The number of members that are missing from objects."""
    strings: int
    """The number of strings that are shown in part."""
    largest: CutPlace
    """The place with the most bytes left out."""
    kept: list[KeptParts]
    """The parts that were kept, by the reason why."""


class Report(TypedDict, total=False):
    """The report of one run: sizes, what was cut, and how."""

    filter_applied: bool
    """Whether the output was made by the rules."""
    filter_original_bytes: int
    """Number of bytes of the document that were consumed; a final newline does not count. If `stop_early` stops after
    an `extract`, a `retain` or `patches`, number of bytes of the output of these."""
    filter_result_bytes: int
    """Size of the filtered output in bytes, before `budget` and `compact`."""
    output_bytes: int
    """Size of the output in bytes, if `budget` or `compact` changed it."""
    filter_items_truncated_from: int
    """Length of the payload before `max_items`, if something was cut. Absent after `stop_early`, because the rest of
    the array was not read."""
    filter_partial_miss: list[str]
    """Selected paths that no item has."""
    filter_skipped: Literal["raw_output", "error_response", "raw_mode", "shape"]
    """The reason why rules were skipped."""
    filter_error: str
    """A warning that rules did not apply, with the reason: a total miss, patches that failed, a `content` filter
    without content (and what is written instead), or a tool without a filter of a known type in its registry, whose
    full response passes."""
    branch: str
    """The branch of `when` that applied."""
    patches_applied: int
    """Number of operations of `patches` that were applied, including tests that held."""
    patches_without_effect: int
    """Number of `remove` operations without a value to remove, where `lenient_remove` allows that."""
    patch_stopped_at: str
    """The `test` of `patches` that failed and ended the sequence."""
    content_from: Literal["article", "body", "page", "fields", "text", "response"]
    """The source of the text of a `content` filter."""
    content_hidden: bool
    """Whether a `content` filter left out a hidden part of a page."""
    left_out: LeftOut
    """Blocks that a `content` filter left out of pages because they are not part of the main texts. Navigation and
    hidden text are not counted."""
    budget_applied: bool
    """Whether a budget shortened the output."""
    budget_exceeded: bool
    """Whether the output exceeds its budget, because nothing more could be left out or because `compact` made it
    longer."""
    budget_cuts: BudgetCuts
    """The parts that a budget left out which prefers information."""
    prefer_skipped: Literal["size", "room"]
    """The reason why the budget kept the first items although `prefer` asks for information."""
    budget_limit: int
    """The budget in bytes, if it shortened the output."""
    budget_original_bytes: int
    """Size of the filtered output in bytes, if a budget shortened it; equal to `result_bytes`."""
    budget_result_bytes: int
    """Size of the output in bytes, including marks and the text that `compact` rendered. More than the limit with
    `budget_exceeded`."""
    tokens_limit: int
    """The budget in tokens, if it shortened the output."""
    tokens_original: int
    """Number of tokens of the filtered output if tokens are estimated, or of the text of a `content` filter. Otherwise
    the bytes that a budget drops are not counted in tokens."""
    tokens_result: int
    """Number of tokens of the output, as its bytes are counted."""
    tokens_estimated: bool
    """Whether tokens were estimated at four bytes each: the call has no vocabulary."""
    compact_error: str
    """The reason why `compact` left the filtered output unchanged."""
    encode_skipped: Literal["duplicate_key", "lone_surrogate", "number", "size", "not_a_list", "not_rows", "empty", "sparse", "siblings"]
    """The reason why the output is JSON although `encode` names another form."""
    factored: Factored
    """Counts of the members that `factor` wrote once, and the bytes that it saved."""
    factor_skipped: Literal["names", "gain", "size", "stop_early", "encode", "compact", "lines", "strings", "whitespace"]
    """The reason why the document was not factored although `factor` asks for it."""
    items_seen: int
    """Number of elements of the payload that were read, if it is an array."""
    items_kept: int
    """Number of elements in the output."""
    where_dropped: int
    """Number of elements that `where` dropped. They are not counted in the other keys."""
    kind_kept: int
    """Number of values that `on_kind: keep` kept although they are of another kind than a path needs."""
    omitted_members: int
    """Number of values that `omit` left out."""
    projection_skipped: int
    """Number of values that projections left out, because they are not objects."""
    items_at_least: int
    """A lower bound for the number of elements of the payload, if `stop_early` stopped before its end."""
    tail_unread: bool
    """Whether the rest of the input was neither read nor validated."""
    duplicates_dropped: int
    """Number of members that were dropped because their name occurred before. Complete under `duplicate_keys: count`;
    otherwise only those that were seen. A member that two outputs need counts for each; paths with a common beginning
    count once up to their first wildcard."""
    held_peak_bytes: int
    """Maximum number of bytes held at once, in memory and in the temporary file. Depends on the driver and the
    chunks."""
    inner: list[InnerReport]
    """The reports of the entries of `json_strings`, in their order. Absent without the rule."""
    base64_omitted: int
    """Number of strings, and of `data:` URLs in other strings, that `omit_base64_over` replaced."""
    base64_omitted_bytes: int
    """Size of these in bytes, without escapes."""
    redacted: dict[str, int]
    """Number of replaced values, by kind: the kinds of the guide, and `path` for values at the paths of `redact`."""
    root: str
    """The place of the payload."""
    plan: list[str]
    """How each stage ran. Depends on the driver. Each step is written as one line."""
    error: FailureReport
    """The error of a failed run."""


class TextReport(TypedDict, total=False):
    """The result of filtering one text."""

    changed: bool
    """Whether an operation changed anything. If not, the output equals the input."""
    bytes_in: int
    """Bytes of the input."""
    bytes_out: int
    """Bytes of the output."""
    chars_in: int
    """Characters of the input."""
    chars_out: int
    """Characters of the output."""
    lines_in: int
    """Lines of the input."""
    lines_out: int
    """Lines of the output, including headings and the lines that report how many were left out."""
    lines_removed: int
    """Input lines that were removed."""
    lines_folded: int
    """Input lines that were replaced by an equal or similar line of the output."""
    lines_shortened: int
    """Input lines that were written in a shorter form, or as items under a heading."""
    lines_left_out: int
    """Input lines left out because of `max_lines`."""
    lines_overwritten: int
    """Input lines that a terminal would not show completely, because text after a carriage return or backspaces
    overwrote a part of them."""
    lines_marked: int
    """Input lines that look like a notice of tamis and were marked with `| `."""
    lines_too_long: int
    """Lines longer than the limit `line`. If there are patterns and the beginning of such a line did not decide, it was
    removed."""
    was_empty: bool
    """Whether nothing was left and the text of `on_empty` was written."""


class OutputReport(TypedDict, total=False):
    """The result of filtering the output of one command."""

    filter: str
    """Name of the filter that was applied, or `None`."""
    passed: Literal["disabled", "unclear", "no_filter", "machine_format", "structured", "too_long", "not_text"]
    """Why the output was passed through, if it was."""
    exit_code: int
    """Exit code of the command, if known."""
    changed: bool
    """Whether the filtered output differs from the raw one."""
    cut: bool
    """Whether lines or parts of lines were removed."""
    full_output: str
    """Where the full output can be read, if given."""
    bytes_in: int
    """Bytes of the raw output."""
    bytes_out: int
    """Bytes of the filtered output."""
    chars_in: int
    """Characters of the raw output."""
    chars_out: int
    """Characters of the filtered output."""
    lines_in: int
    """Lines of the raw output."""
    lines_out: int
    """Lines of the filtered output, including headings and the lines that report what was left out."""
    lines_removed: int
    """Lines that were removed."""
    lines_folded: int
    """Lines that were replaced by an equal or similar line of the output."""
    lines_shortened: int
    """Lines that were written in a shorter form, or as items under a heading."""
    lines_left_out: int
    """Lines left out between head and tail."""
    lines_overwritten: int
    """Lines that a terminal would not show completely, because other text overwrote a part of them."""
    lines_marked: int
    """Lines that look like a notice of tamis and were marked with `| `."""
    lines_capped: int
    """Lines of the filtered output that the cap of the call left out, in whole or in part."""
    redacted: dict[str, int]
    """Credentials that were replaced before the filter, by kind."""


class PrunedTool(TypedDict, total=False):
    """Numbers of pruned results of one tool."""

    results: int
    """Number of its results that were pruned."""
    bytes_saved: int
    """Bytes saved, after subtracting the replacements; negative if those are longer."""
    tokens_saved: int
    """Tokens of the pruned results."""


class PruneReport(TypedDict, total=False):
    """The report of one pruning run."""

    messages: int
    """Number of messages in the history."""
    user_turns: int
    """Number of user messages that count as turns. Messages with nothing but results do not."""
    results: int
    """Number of tool results in the whole history."""
    results_pruned: int
    """Number of results that were pruned."""
    results_protected: int
    """Number of results of protected tools."""
    results_compacted: int
    """Number of results that had been pruned before."""
    bytes: int
    """Size of the document in bytes."""
    bytes_saved: int
    """Bytes by which the output is shorter; negative if placeholders and marks are longer than what they replace."""
    tokens_saved: int
    """Tokens of the pruned results, not reduced by those of the placeholders."""
    tokens_estimated: bool
    """Tokens were not counted but estimated at four bytes each."""
    first_changed: int
    """Offset of the first change, in the document and in the output. A provider's prompt cache stays valid up to
    here."""
    bytes_invalidated: int
    """Bytes of the output from there on."""
    refused: Literal["minimum_tokens", "min_gain"]
    """The rule that prevented pruning, if there was something to prune."""
    tools: dict[str, PrunedTool]
    """Numbers of pruned results for each tool. The name of an unknown tool is empty."""
    held_peak_bytes: int
    """Largest number of bytes held at once, in memory and in temporary files. Depends on the driver."""
    error: FailureReport
    """The error, if the run failed. Nothing was written then."""
