"""`filter_tool`: a function whose results are filtered, for any framework that makes tools of functions."""

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import Any

from . import Program
from .adapters._results import filtered, withheld
from .adapters._tools import ToolFilters, Withheld, is_control


def wrapped(function: Callable[..., Any], *, rules: Any, name: str | None) -> Callable[..., Any]:
    """Return the function with filtered results."""
    if not callable(function):
        raise TypeError(f"filter_tool: expected a function, found {type(function).__name__}")
    if isinstance(rules, Mapping):
        rules = Program(dict(rules))
    tool = name or getattr(function, "__name__", None) or type(function).__name__
    filters = ToolFilters(rules)
    filters.require(tool)
    results = _Results(filters, tool)
    called = function if inspect.isroutine(function) or isinstance(function, functools.partial) else type(function).__call__
    inner = function.func if isinstance(function, functools.partial) else called

    wrapper: Callable[..., Any]
    if inspect.isasyncgenfunction(inner):

        async def async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            async for value in results.each_async(function(*args, **kwargs)):
                yield value

        wrapper = async_generator
    elif inspect.isgeneratorfunction(inner):

        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from results.each(function(*args, **kwargs)))

        wrapper = generator
    elif inspect.iscoroutinefunction(inner):

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await results.later(function(*args, **kwargs))

        wrapper = coroutine
    else:

        def plain(*args: Any, **kwargs: Any) -> Any:
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                results.failed(error)
                raise
            return results.of_call(result)

        wrapper = plain
    wrapper = functools.wraps(function)(wrapper)
    if not hasattr(wrapper, "__name__") or isinstance(function, functools.partial):
        wrapper.__name__ = tool
        wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return wrapper


class _Results:
    """The results of one function."""

    def __init__(self, filters: ToolFilters, tool: str) -> None:
        self.filters, self.tool = filters, tool

    def of_call(self, result: Any) -> Any:
        """Return the filtered result of a call, which may be awaited or iterated."""
        if inspect.isawaitable(result):
            return self.later(result)
        if inspect.isgenerator(result):
            return self.each(result)
        if inspect.isasyncgen(result):
            return self.each_async(result)
        return self.value(result)

    def value(self, result: Any) -> Any:
        try:
            return filtered(self.filters, self.tool, result)
        except Withheld as error:
            return withheld(result, str(error))

    def failed(self, error: Exception) -> None:
        """Raise an exception of the same type with another message, if the message of this one must not pass."""
        if is_control(error):
            return
        try:
            self.filters.message(self.tool, error)
        except Withheld as replaced:
            raise _with_message(error, str(replaced)) from None

    async def later(self, result: Awaitable[Any]) -> Any:
        try:
            value = await result
        except Exception as error:
            self.failed(error)
            raise
        return self.value(value)

    def each(self, values: Iterator[Any]) -> Generator[Any, Any, Any]:
        try:
            for value in values:
                yield self.value(value)
        except Exception as error:
            self.failed(error)
            raise
        finally:
            close = getattr(values, "close", None)
            if close is not None:
                close()

    async def each_async(self, values: AsyncIterator[Any]) -> AsyncIterator[Any]:
        try:
            async for value in values:
                yield self.value(value)
        except Exception as error:
            self.failed(error)
            raise
        finally:
            close = getattr(values, "aclose", None)
            if close is not None:
                await close()


def _with_message(error: Exception, message: str) -> Exception:
    """Return an exception of the same type with another message, or `Withheld` if the type takes other arguments."""
    try:
        copy = type(error)(message)
    except Exception:  # Constructors are code of others.
        return Withheld(message)
    return copy if str(copy) == message else Withheld(message)
