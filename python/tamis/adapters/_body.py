"""Bodies of HTTP responses: which filter applies, and the filter of one body."""

import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from .. import CallOptions, Error, Program

BUFFERED = 4 << 20
"""The largest body in bytes that a filter which only saves can replace by the original."""


class BodyFilter:
    """The filter of one body, in chunks.

    A filter that removes for safety writes as the body arrives, and raises if it fails. A filter that only saves waits for the
    end, up to `buffered` bytes, so that the original passes if it fails; a longer body is written as it arrives.
    """

    def __init__(self, program: Program, buffered: int = BUFFERED, **options: Any) -> None:
        call: CallOptions = options  # type: ignore[assignment]
        self._stream = program.stream(**call)
        self._original: list[bytes] | None = None if program.removes_for_safety else []
        self._waiting: list[bytes] = []
        self._left = buffered
        self._passes = False

    def write(self, chunk: bytes) -> bytes:
        """Take the next bytes and return what can be sent."""
        if self._passes:
            return chunk
        if self._original is not None:
            self._original.append(chunk)
        try:
            output = self._stream.write(chunk)
        except Error as error:
            return self._failed(error)
        if self._original is None:
            return output
        self._waiting.append(output)
        self._left -= len(chunk)
        return self._taken() if self._left < 0 else b""

    def end(self) -> bytes:
        """End the body and return the rest."""
        if self._passes:
            return b""
        try:
            self._waiting.append(self._stream.end())
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


def program_for(rules: Any, key: str, request: Any) -> Program | None:
    """Return the program for a request: of a program, of the first pattern that `key` matches, or of a function."""
    if isinstance(rules, Program):
        return rules
    if isinstance(rules, Mapping):
        return next((rules[pattern] for pattern in rules if fnmatch.fnmatchcase(key, pattern)), None)
    chosen: Program | None = rules(request)
    return chosen


def is_json(content_type: str) -> bool:
    """Return whether a media type is JSON."""
    media = content_type.split(";")[0].strip().lower()
    return media == "application/json" or media.endswith("+json")


Choice = Program | Mapping[str, Program] | Callable[[Any], Program | None]
"""A program for all responses, programs by patterns of addresses (`*`, `?`), or a function of the request."""
