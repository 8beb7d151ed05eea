"""The members of content blocks that pass a filter which removes for safety.

A filter knows the payload of a result, not the block around it. A tool may repeat data in members that hold free text, so only
the members of these lists are kept, as in the proxy (`crates/mcp/src/policy/allowed.rs`).
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any


class Member(Enum):
    """The values that a member may have. A dictionary allows an object, a list an array, a tuple one of several."""

    SCALAR = "a string, a number, a boolean or null"
    SEARCHED = "a scalar, which is searched for credentials if the filter does that"


SCALAR, SEARCHED = Member.SCALAR, Member.SEARCHED

META = {
    "progressToken": SCALAR,
    "io.modelcontextprotocol/related-task": {"taskId": SCALAR},
    "io.modelcontextprotocol/subscriptionId": SCALAR,
    "io.modelcontextprotocol/protocolVersion": SCALAR,
    "io.modelcontextprotocol/serverInfo": {"name": SCALAR, "title": SCALAR, "version": SCALAR},
    # FastMCP marks the results that it wraps.
    "fastmcp": {"wrap_result": SCALAR},
}
"""The metadata of results and blocks of MCP."""

_OF_ALL = {
    "type": SCALAR,
    "annotations": {"audience": [SCALAR], "priority": SCALAR, "lastModified": SCALAR},
    "cache_control": {"type": SCALAR, "ttl": SCALAR},
    "_meta": META,
}
_TEXT = {**_OF_ALL, "text": SCALAR}
_SOURCE = {
    **dict.fromkeys(("type", "source_type", "data", "base64", "mimeType", "mime_type", "media_type"), SCALAR),
    **dict.fromkeys(("format", "detail", "file_id"), SCALAR),
    "url": SEARCHED,
}
_MEDIA = {**_OF_ALL, **_SOURCE, "source": _SOURCE, "image_url": (SEARCHED, _SOURCE), "input_audio": _SOURCE}
_RESOURCE = {"uri": SEARCHED, "mimeType": SCALAR, "text": SCALAR, "blob": SCALAR, "_meta": META}

BLOCKS: dict[str, Any] = {
    **dict.fromkeys(("text", "input_text", "output_text"), _TEXT),
    **dict.fromkeys(("image", "image_url", "input_image", "computer_screenshot", "audio", "input_audio"), _MEDIA),
    "resource": {**_OF_ALL, "resource": _RESOURCE},
    "resource_link": {**_OF_ALL, "uri": SEARCHED, "name": SEARCHED, "mimeType": SCALAR, "size": SCALAR},
}
"""The members of each known kind of block: of MCP, OpenAI, Anthropic and LangChain."""


def kind_of(block: Any) -> str | None:
    """Return the kind of a block, or `None` if the kind is not known."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    return kind if isinstance(kind, str) and kind in BLOCKS else None


def allowed_parts(value: Any, allowed: Any, search: Callable[[Any], Any]) -> Any:
    """Return the parts of a value that are allowed, or `None` if it is not allowed at all."""
    if isinstance(allowed, tuple):
        found = (allowed_parts(value, one, search) for one in allowed)
        return next((parts for parts in found if parts is not None), None)
    if isinstance(allowed, Member):
        if not isinstance(value, str | int | float | bool):
            return None
        return search(value) if allowed is SEARCHED else value
    if isinstance(allowed, list):
        if not isinstance(value, list):
            return None
        parts = [allowed_parts(one, allowed[0], search) for one in value]
        return [part for part in parts if part is not None]
    if not isinstance(value, Mapping):
        return None
    members = {name: allowed_parts(value[name], allowed[name], search) for name in value if name in allowed}
    return {name: part for name, part in members.items() if part is not None}
