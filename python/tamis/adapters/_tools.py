"""Which filter a tool has, and what becomes of a result that cannot be filtered."""

import json
from collections.abc import Mapping
from typing import Any

from .. import Error, Manifest, Program, Rules

_Rules = Manifest | Program | Mapping[str, Program | Rules]

WITHHELD = "The tool did run. Its result is withheld, because its filter could not be applied to it."
FAILED = "The tool call failed. Its message is withheld, because the filter of the tool removes data."


class Withheld(Exception):
    """A result must not pass, because its filter removes values for safety and could not be applied."""


class WithheldText(Withheld):
    """A text must not pass, because it is not JSON. The rest of the result may."""


NOT_JSON = ("syntax", "unexpected_end", "encoding")
"""The kinds of errors for text that is not JSON."""


class ToolFilters:
    """The filters of tools.

    `rules` is a manifest, a mapping from names of tools to programs or rules, or one program for every tool. A tool without a
    filter is passed through.

    A filter that only saves (`select`, `max_items`, …) never breaks a call: if it fails, the original passes. A filter that
    removes for safety (`exclude`, `retain`, `redact`, …) fails closed: `text` and `value` then raise `Withheld`.
    """

    def __init__(self, rules: "_Rules | ToolFilters") -> None:
        self._manifest: Manifest | None = None
        self._every: Program | None = None
        self._named: dict[str, Program] = {}
        if isinstance(rules, ToolFilters):
            self.__dict__.update(rules.__dict__)
        elif isinstance(rules, Manifest):
            self._manifest = rules
        elif isinstance(rules, Program):
            self._every = rules
        else:
            self._named = {
                name: entry if isinstance(entry, Program) else Program(entry)
                for name, entry in rules.items()
            }

    def program(self, tool: str) -> Program | None:
        """Return the filter of a tool."""
        if self._manifest is not None:
            return self._manifest.find(tool)
        return self._named.get(tool, self._every)

    def text(self, tool: str, text: str, *, is_error: bool = False) -> str:
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

    def value(self, tool: str, value: Any, *, is_error: bool = False) -> Any:
        """Return the filtered value of a result: an object, a list, or text if the rules write text."""
        program = self.program(tool)
        if program is None:
            return value
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            filtered = program.filter(text, is_error=is_error)
        except (Error, TypeError, ValueError) as error:
            if program.removes_for_safety:
                raise Withheld(FAILED if is_error else WITHHELD) from error
            return value
        try:
            return json.loads(filtered)
        except ValueError:
            return filtered.decode()

    def message(self, tool: str, error: BaseException) -> None:
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

    def blocks(self, tool: str, blocks: list[Any], *, is_error: bool = False) -> list[Any]:
        """Return a list of content blocks (`{"type": "text", "text": …}`) or texts with their texts filtered."""

        def one(block: Any) -> Any:
            if isinstance(block, str):
                return self.text(tool, block, is_error=is_error)
            if isinstance(block, Mapping) and isinstance(block.get("text"), str):
                return {**block, "text": self.text(tool, block["text"], is_error=is_error)}
            return block

        return [one(block) for block in blocks]
