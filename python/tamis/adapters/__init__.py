"""Adapters for frameworks. Each module needs the package that it is named after; tamis depends on none of them.

`fastmcp`, `langchain`, `openai_agents` and `litellm` filter the results of tools, by the names of the tools. `httpx` and
`asgi` filter bodies of HTTP responses, by their addresses.
"""

from ._body import BodyFilter
from ._tools import ToolFilters

__all__ = ["BodyFilter", "ToolFilters"]
