"""Which filter a tool has, and what becomes of a result that cannot be filtered."""

import dataclasses
import datetime
import decimal
import difflib
import enum
import functools
import json
import pathlib
import sys
import uuid
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .. import Error, Manifest, Program, Rules
from ._blocks import BLOCKS, allowed_parts, kind_of

ToolRules = Manifest | Program | Mapping[str, Program | Rules]
"""A manifest, one program for every tool, or programs or rules by the names of tools."""

WITHHELD = "The tool did run. Its result is withheld, because its filter could not be applied to it."
FAILED = "The tool call failed. Its message is withheld, because the filter of the tool removes data."
AMBIGUOUS = "The result is withheld, because several filters match the name of the tool equally well."
UNKNOWN = "The result is withheld, because the name of its tool is not known, and a filter removes data."


class Withheld(Exception):
    """A result must not pass, because its filter removes values for safety and could not be applied."""


class WithheldText(Withheld):
    """A text or a block must not pass, because the filter cannot read it. The rest of the result may."""


NOT_JSON = ("syntax", "unexpected_end", "encoding")
"""The kinds of errors for text that is not JSON."""

UNREADABLE = (Error, TypeError, ValueError, RecursionError)
"""The errors for values that cannot be filtered: they are not JSON, or nested too deeply."""


class ToolFilters:
    """The filters of tools.

    `rules` is a manifest, a mapping from names of tools to programs or rules, or one program for every tool. A tool without a
    filter is passed through. `None` as the name of a tool stands for a name that is not known.

    A filter that only saves (`select`, `max_items`, …) never breaks a call: if it fails, the original passes. A filter that
    removes for safety (`exclude`, `retain`, `redact`, …) fails closed: all methods then raise `Withheld`. They also raise it if
    the filter of a tool is not certain, and any filter removes for safety.
    """

    def __init__(self, rules: "ToolRules | ToolFilters") -> None:
        self._manifest: Manifest | None = None
        self._every: Program | None = None
        self._named: dict[str, Program] = {}
        if isinstance(rules, ToolFilters):
            self.__dict__.update(rules.__dict__)
        elif isinstance(rules, Manifest):
            self._manifest = rules
        elif isinstance(rules, Program):
            self._every = rules
        elif isinstance(rules, Mapping):
            self._named = {name: program_of(entry) for name, entry in rules.items()}
        else:
            expected = "a manifest, a program, or programs or rules by the names of tools"
            raise TypeError(f"expected {expected}, found {type(rules).__name__}")

    @functools.cached_property
    def removes_for_safety(self) -> bool:
        """Whether the filter of any tool removes for safety."""
        if self._manifest is None:
            return any(program.removes_for_safety for program in (self._every, *self._named.values()) if program)
        try:
            return any(self._manifest.program(name).removes_for_safety for name in self._manifest.names)
        except Error:
            return True

    def program(self, tool: str | None) -> Program | None:
        """Return the filter of a tool."""
        if tool is None and self._every is None:
            if self.removes_for_safety:
                raise Withheld(UNKNOWN)
            return None
        if self._manifest is None or tool is None:
            return self._named.get(tool or "", self._every)
        try:
            return self._manifest.find(tool)
        except Error as error:
            if error.kind != "ambiguous":
                raise
            if self.removes_for_safety:
                raise Withheld(AMBIGUOUS) from error
            warnings.warn(f"results of the tool `{tool}` are not filtered: {error}", stacklevel=2)
            return None

    def require(self, tool: str) -> None:
        """Raise `Error` if a tool has no filter, so that a wrapper of one tool does not pass everything because of a wrong name."""
        if self._manifest is not None:
            self._manifest.program(tool)
        elif self._every is None and tool not in self._named:
            near = difflib.get_close_matches(tool, self._named, 1)
            instead = f"did you mean `{near[0]}`?" if near else f"expected one of {', '.join(self._named) or 'no names'}"
            raise made("unknown_tool", "caller", f"no filter for the tool `{tool}`; {instead}")

    def text(self, tool: str | None, text: str, *, is_error: bool = False) -> str:
        """Return the filtered text of a result.

        Text that is not JSON is redacted and filtered by lines, if the filter has rules for that. It raises `WithheldText` if
        the filter has other rules for safety, which cannot read it.
        """
        program = self.program(tool)
        if program is None:
            return text
        sentence = FAILED if is_error else WITHHELD
        try:
            return program.filter(text, is_error=is_error).decode()
        except (Error, UnicodeError) as error:
            if isinstance(error, Error) and error.kind in NOT_JSON:
                plain = program.filter_plain(text, is_error)
                if plain is None:
                    raise WithheldText(sentence) from error
                return plain.decode("utf-8", "replace")
            if program.removes_for_safety:
                raise Withheld(sentence) from error
            return text

    def value(self, tool: str | None, value: Any, *, is_error: bool = False) -> Any:
        """Return the filtered value of a result: an object, a list, or text if the rules write text."""
        program = self.program(tool)
        if program is None:
            return value
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_as_json)
            filtered = program.filter(text, is_error=is_error)
        except UNREADABLE as error:
            if program.removes_for_safety:
                raise Withheld(FAILED if is_error else WITHHELD) from error
            return value
        try:
            return json.loads(filtered)
        except ValueError:
            return filtered.decode()

    def content(self, tool: str | None, content: Any, *, is_error: bool = False) -> Any:
        """Return the filtered content of a message: a text, a list of texts and blocks, one block, or another value."""
        if isinstance(content, str):
            return self.text(tool, content, is_error=is_error)
        if isinstance(content, list) and any(isinstance(one, str) or _has_type(one) for one in content):
            program = self.program(tool)
            only_saves = program is not None and not program.removes_for_safety
            # The rules that save apply to a list of texts as they do to other lists.
            if not (only_saves and all(isinstance(one, str) for one in content)):
                return self.blocks(tool, content, is_error=is_error)
        if kind_of(content) is not None:
            return self.block(tool, content, is_error=is_error)
        return self.value(tool, content, is_error=is_error)

    def blocks(self, tool: str | None, blocks: list[Any], *, is_error: bool = False) -> list[Any]:
        """Return a list of content blocks (`{"type": "text", "text": …}`) or texts with each of them filtered."""
        return [self.block(tool, block, is_error=is_error) for block in blocks]

    def block(self, tool: str | None, block: Any, *, is_error: bool = False) -> Any:
        """Return a content block with its text filtered.

        A filter that removes for safety also removes members which no rule covers. It raises `WithheldText` for a kind of block
        that is not known, unless it can search it for credentials.
        """
        program = self.program(tool)
        if program is None:
            return block
        if isinstance(block, str):
            return self.text(tool, block, is_error=is_error)
        if program.removes_for_safety:
            block = _safe(program, block, FAILED if is_error else WITHHELD)
        if not isinstance(block, Mapping):
            return block
        filtered = dict(block)
        if isinstance(block.get("text"), str):
            filtered["text"] = self.text(tool, block["text"], is_error=is_error)
        resource = block.get("resource")
        if isinstance(resource, Mapping) and isinstance(resource.get("text"), str):
            text = self.text(tool, resource["text"], is_error=is_error)
            filtered["resource"] = {**resource, "text": text}
        return filtered

    def allowed(self, tool: str | None, value: Any, allowed: Any) -> Any:
        """Return the parts of a value beside the payload that the filter of a tool lets through."""
        program = self.program(tool)
        if program is None or not program.removes_for_safety:
            return value
        try:
            return allowed_parts(value, allowed, _search(program))
        except UNREADABLE as error:
            raise Withheld(WITHHELD) from error

    def message(self, tool: str | None, error: BaseException) -> None:
        """Raise `Withheld` with another message if the message of a failed call must not pass as it is."""
        program = self.program(tool)
        if program is None or not program.removes_for_safety:
            return
        text = str(error)
        plain = program.filter_plain(text.encode("utf-8", "replace"), True)
        if plain is None:
            raise Withheld(FAILED) from error
        if plain.decode("utf-8", "replace") != text:
            raise Withheld(plain.decode("utf-8", "replace")) from error


def _as_json(value: Any) -> Any:
    """Return a value that JSON has no form for as one that it has, as frameworks write it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump(mode="json", by_alias=True)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return list(value)
    if isinstance(value, uuid.UUID | decimal.Decimal | pathlib.PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def is_control(error: BaseException) -> bool:
    """Return whether an exception is not a failure, but tells LangGraph how to continue, as that of `interrupt` does."""
    langgraph = sys.modules.get("langgraph.errors")
    return langgraph is not None and isinstance(error, langgraph.GraphBubbleUp)


def made(kind: str, fault: str, message: str) -> Error:
    """Return an error with its attributes, as the addon makes it."""
    error = Error(message)
    error.kind, error.fault, error.message = kind, fault, message
    return error


def program_of(entry: Any) -> Program:
    """Return the program of an entry of a mapping: of a program, or of rules."""
    if isinstance(entry, Program):
        return entry
    if isinstance(entry, Mapping):
        return Program(dict(entry))
    raise TypeError(f"expected a program or rules, found {type(entry).__name__}")


def reads_text(program: Program) -> bool:
    """Return whether text that is not JSON can pass the filter."""
    return program.filter_plain("x") is not None


def _has_type(block: Any) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("type"), str)


def _safe(program: Program, block: Any, sentence: str) -> Any:
    """Return a block without the members that no rule of a filter for safety covers."""
    try:
        search, kind = _search(program), kind_of(block)
        if kind is not None:
            return allowed_parts(block, BLOCKS[kind], search)
        if _only_redacts(json.dumps(program.spec)):
            return search(block)
    except UNREADABLE as error:
        raise Withheld(sentence) from error
    raise WithheldText(sentence)


def _search(program: Program) -> Callable[[Any], Any]:
    """Return a function that searches the texts of a value for credentials, if the program does that."""
    redact = {name: rule for name, rule in (program.spec.get("redact") or {}).items() if name != "paths"}
    if not redact.get("secrets") and not redact.get("patterns"):
        return lambda value: value
    redactor = _redactor(json.dumps(redact))
    return lambda value: json.loads(redactor.filter(json.dumps(value, ensure_ascii=False)))


@functools.lru_cache(maxsize=64)
def _only_redacts(spec: str) -> bool:
    """Return whether a search for credentials is the only rule for safety. A manifest may let text pass other rules, too."""
    rules = json.loads(spec)
    redact = rules.pop("redact", {})
    return not redact.get("paths") and not Program(rules).removes_for_safety


@functools.lru_cache(maxsize=64)
def _redactor(redact: str) -> Program:
    """Return the program with a rule `redact` only. Its patterns are compiled once."""
    return Program(redact=json.loads(redact))
