"""Bodies of HTTP responses: which filter applies, and the filter of one body."""

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .. import CallOptions, Error, Manifest, Program, Rules
from ._tools import NOT_JSON, made, program_of, reads_text

MAX_BUFFERED = 4 << 20
"""The largest body in bytes that is held as a whole: by a filter which only saves, so that the original can pass if it fails,
and by a filter that searches a text for credentials."""

CHANGED_HEADERS = frozenset(
    (b"content-length", b"etag", b"content-md5", b"digest", b"content-digest", b"repr-digest")
)
"""The headers that do not describe a filtered body."""

LINES = frozenset(
    f"application/{name}" for name in ("x-ndjson", "ndjson", "jsonl", "x-jsonl", "jsonlines", "x-jsonlines")
)
"""The media types of newline-delimited JSON."""

ASCII_CHARSETS = ("utf-8", "utf8", "us-ascii", "iso-8859-", "windows-125")
"""The beginnings of charsets in which credentials have the bytes of ASCII."""

EVENTS = "text/event-stream"
"""The media type of an event stream."""

EVENT_END = re.compile(rb"(?:\r\n|\r(?!\n)|\n)(?:\r\n|\r(?!\n)|\n)")
"""The line end of an event's last line, and the empty line after it."""

FOREIGN_PATTERN = re.compile(r"[{}<>^|]|(?<![\[!])\((?!\])|(?<=/):|/\.[*+](?:/|$)")
"""What is a parameter or a regular expression in the routes of frameworks, and never matches as a text."""

ProgramChoice = Program | Mapping[str, Program | Rules] | Callable[[Any], Program | None]
"""A program for all responses, programs or rules by patterns of addresses (`*`, `?`), or a function of the request."""


class BodyFilter:
    """The filter of one body, in chunks.

    A filter that removes for safety writes as the body arrives, and raises if it fails. A filter that only saves waits for the
    end, up to `buffered` bytes, so that the original passes if it fails; a longer body is written as it arrives. A body without
    bytes passes. The body is a document, unless `reader` reads another form. A reader with `is_live` passes originals itself.
    """

    def __init__(
        self, program: Program, buffered: int = MAX_BUFFERED, *, reader: "_Reader | None" = None, **options: Any
    ) -> None:
        call: CallOptions = options  # type: ignore[assignment]
        self._reader = reader or program.stream(**call)
        is_live = program.removes_for_safety or getattr(reader, "is_live", False)
        self._original: list[bytes] | None = None if is_live else []
        self._waiting: list[bytes] = []
        self._left = buffered
        self._passes = False
        self.is_empty = True

    def write(self, chunk: bytes) -> bytes:
        """Take the next bytes and return what can be sent."""
        if len(chunk) == 0:
            return b""
        self.is_empty = False
        if self._passes:
            return chunk
        if self._original is not None:
            self._original.append(chunk)
        try:
            output = self._reader.write(chunk)
        except Error as error:
            return self._failed(error)
        if self._original is None:
            return output
        self._waiting.append(output)
        self._left -= len(chunk)
        return self._taken() if self._left < 0 else b""

    def end(self) -> bytes:
        """End the body and return the rest."""
        if self._passes or self.is_empty:
            return b""
        try:
            self._waiting.append(self._reader.end())
        except Error as error:
            return self._failed(error)
        return self._taken()

    def _taken(self) -> bytes:
        output = b"".join(self._waiting)
        self._waiting, self._original = [], None
        return output

    def _failed(self, error: Error) -> bytes:
        """Return the original, or raise the error where the original must not or can no longer pass."""
        if self._original is None:
            raise error
        self._passes = True
        return b"".join(self._original)


def body_filter(program: Program, content_type: str, buffered: int, is_error: bool) -> BodyFilter | None:
    """Return the filter of a body with a media type, or `None` if the body passes.

    A filter that only saves reads JSON: documents, lines and events. A filter that removes for safety reads every body: as a
    document, which fails if the body is not JSON, as lines or events of JSON, or as text, if text can pass the filter.
    """
    media, _, parameters = content_type.lower().partition(";")
    media = media.strip()
    if media in LINES:
        return BodyFilter(program, buffered, reader=_Lines(program, buffered, is_error))
    if media == EVENTS:
        return BodyFilter(program, buffered, reader=_Events(program, buffered, is_error))
    if "json" not in media:
        if not program.removes_for_safety:
            return None
        if _is_text(media, parameters) and reads_text(program):
            return BodyFilter(program, buffered, reader=_Text(program, buffered, is_error))
    return BodyFilter(program, buffered, is_error=is_error)


def checked_choice(rules: Any) -> ProgramChoice:
    """Return the rules of an adapter with their programs compiled. Raise `TypeError` for anything else, and `ValueError` for a
    pattern in the form of a framework, such as `/users/{id}`, which would never match."""
    if isinstance(rules, Mapping):
        for pattern in rules:
            if FOREIGN_PATTERN.search(pattern):
                message = f"{pattern!r} is the route of a framework or a regular expression, and would match no address"
                raise ValueError(f"{message}; write `*` for any characters, and `[(]` for a character that is meant")
        return {pattern: program_of(entry) for pattern, entry in rules.items()}
    if isinstance(rules, Program) or (callable(rules) and not isinstance(rules, Manifest)):
        choice: ProgramChoice = rules
        return choice
    expected = "a program, programs or rules by patterns of addresses, or a function of the request"
    raise TypeError(f"expected {expected}, found {type(rules).__name__}")


def program_for(rules: Any, key: str, request: Any) -> Program | None:
    """Return the program for a request: of a program, of the first pattern that `key` matches, or of a function."""
    if isinstance(rules, Program):
        return rules
    if isinstance(rules, Mapping):
        return next((rules[pattern] for pattern in rules if fnmatch.fnmatchcase(key, pattern)), None)
    chosen: Program | None = rules(request)
    return chosen


def refused(kind: str, message: str) -> Error:
    """Return the error for a body that cannot be read."""
    return made(kind, "limit" if kind == "limit" else "input", message)


def _is_text(media: str, parameters: str) -> bool:
    """Return whether a body is a text in which credentials can be found."""
    charset = parameters.partition("charset=")[2].partition(";")[0].strip(' "')
    is_ascii = not charset or charset.startswith(ASCII_CHARSETS)
    return media.startswith("text/") and is_ascii


class _Reader(Protocol):
    def write(self, data: bytes, /) -> bytes: ...
    def end(self) -> bytes: ...


class _Held:
    """The bytes that a reader holds until it can filter them."""

    def __init__(self, program: Program, buffered: int, is_error: bool) -> None:
        self.program, self.buffered, self.is_error = program, buffered, is_error
        self._chunks: list[bytes] = []
        self._size = 0

    def hold(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self.buffered:
            raise refused("limit", f"buffer limit of {self.buffered} bytes exceeded")
        self._chunks.append(bytes(chunk))

    def take(self) -> bytes:
        held = b"".join(self._chunks)
        self._chunks, self._size = [], 0
        return held


class _Lines(_Held):
    """Filters newline-delimited JSON. Complete lines are filtered as they arrive."""

    def write(self, chunk: bytes) -> bytes:
        complete, newline, rest = bytes(chunk).rpartition(b"\n")
        if not newline:
            self.hold(rest)
            return b""
        lines = self.take() + complete + newline
        self.hold(rest)
        return self.program.filter_lines(lines, is_error=self.is_error)

    def end(self) -> bytes:
        return self.program.filter_lines(self.take(), is_error=self.is_error)


class _Events(_Held):
    """Filters an event stream. Complete events are filtered as they arrive.

    If a filter only saves, an event that cannot be filtered passes.
    """

    is_live = True

    def __init__(self, program: Program, buffered: int, is_error: bool) -> None:
        super().__init__(program, buffered, is_error)
        self._passes = False
        self._tail = b""

    def write(self, chunk: bytes) -> bytes:
        chunk = bytes(chunk)
        if self._passes:
            return chunk
        # The end of an event may be split.
        seen = self._tail + chunk
        cut = max((found.end() for found in EVENT_END.finditer(seen)), default=0) - len(self._tail)
        output = b""
        if cut > 0:
            output, chunk = self._filtered(self.take() + chunk[:cut]), chunk[cut:]
            seen = chunk
        self._tail = seen[-3:]
        try:
            self.hold(chunk)
        except Error:
            if self.program.removes_for_safety:
                raise
            self._passes = True
            output += self.take() + chunk
        return output

    def end(self) -> bytes:
        rest = self.take()
        return rest if self._passes else self._filtered(rest)

    def _filtered(self, events: bytes) -> bytes:
        try:
            return self.program.filter_events(events, is_error=self.is_error)
        except Error:
            if self.program.removes_for_safety:
                raise
        ends = [0, *(found.end() for found in EVENT_END.finditer(events)), len(events)]
        return b"".join(self._one(events[start:end]) for start, end in zip(ends, ends[1:]))

    def _one(self, event: bytes) -> bytes:
        try:
            return self.program.filter_events(event, is_error=self.is_error)
        except Error:
            return event


class _Text(_Held):
    """Filters a text as a whole, which may be JSON."""

    def write(self, chunk: bytes) -> bytes:
        self.hold(chunk)
        return b""

    def end(self) -> bytes:
        text = self.take()
        try:
            return self.program.filter(text, is_error=self.is_error)
        except Error as error:
            plain = self.program.filter_plain(text, self.is_error) if error.kind in NOT_JSON else None
            if plain is None:
                raise
            return plain
