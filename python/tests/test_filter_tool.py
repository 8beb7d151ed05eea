"""`filter_tool`: functions of every kind, results of every kind, and what happens if a filter cannot be applied."""

import asyncio
import dataclasses
import datetime
import enum
import functools
import inspect
import uuid
from typing import Any

import pydantic
import pytest
import tamis

from tamis.adapters import ToolFilters

RULES = {"select": ["id", "title"]}
ISSUES = [{"id": 1, "title": "a", "body": "long"}, {"id": 2, "title": "b", "body": "long"}]
KEPT = [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}]
SAFE = {"exclude": ["ssn"], "root": "object"}
SECRET = "078-05-1120"


class Issue(pydantic.BaseModel):
    id: int
    title: str
    body: str = "long"


@dataclasses.dataclass
class Page:
    items: list[Any]
    made: datetime.date


class Colour(enum.Enum):
    RED = "red"


def filtered(result: Any, rules: Any = RULES) -> Any:
    return tamis.filter_tool(lambda: result, rules)()


def test_names_documentation_and_parameters_stay():
    def search(text: str, limit: int = 3) -> list[dict[str, Any]]:
        """Search issues."""
        return ISSUES[:limit]

    tool = tamis.filter_tool(search, RULES)
    assert (tool.__name__, tool.__doc__) == ("search", "Search issues.")
    assert inspect.signature(tool) == inspect.signature(search)
    assert tool("a", limit=1) == KEPT[:1]
    # As a decorator, with a program, a manifest and filters by the names of tools.
    for rules in (
        RULES,
        tamis.Program(RULES),
        tamis.Manifest("version: 1\nfilters:\n  search: {select: [id, title]}\n"),
        ToolFilters({"search": RULES}),
    ):
        assert tamis.filter_tool(rules)(search)("a") == KEPT
    assert tamis.filter_tool(ToolFilters({"other": RULES}), name="other")(search)("a") == KEPT
    for wrong in (lambda: tamis.filter_tool(search), lambda: tamis.filter_tool(7, RULES)):
        with pytest.raises(TypeError, match="filter_tool"):
            wrong()


def test_a_wrapper_without_a_filter_is_an_error():
    def serch() -> Any:
        return {"id": 1, "ssn": SECRET}

    manifest = tamis.Manifest("version: 1\nfilters:\n  search: {exclude: [ssn], root: object}\n  crm.list: {exclude: [ssn]}\n")
    named = ToolFilters({"search": SAFE, "list": SAFE})
    for rules in (manifest, named, ToolFilters(manifest)):
        with pytest.raises(tamis.Error, match="no filter for the tool `serch`; did you mean `search`") as caught:
            tamis.filter_tool(serch, rules)
        assert (caught.value.kind, caught.value.fault) == ("unknown_tool", "caller")
        with pytest.raises(tamis.Error, match="no filter for the tool `<lambda>`; expected one of search, "):
            tamis.filter_tool(lambda: SECRET, rules)
        assert tamis.filter_tool(serch, rules, name="search")() == {"id": 1}
    assert tamis.filter_tool(serch, manifest, name="mcp__crm__list")() == {"id": 1}
    ambiguous = tamis.Manifest("version: 1\nfilters:\n  a.search: {select: [id]}\n  b.search: {exclude: [ssn]}\n")
    with pytest.raises(tamis.Error):
        tamis.filter_tool(serch, ambiguous, name="search")


def test_methods_partials_and_objects():
    class Tools:
        def search(self, count: int) -> Any:
            return ISSUES[:count]

        def __call__(self, count: int) -> Any:
            return ISSUES[:count]

    assert tamis.filter_tool(Tools().search, RULES)(1) == KEPT[:1]
    assert tamis.filter_tool(Tools(), RULES)(1) == KEPT[:1]
    partial = tamis.filter_tool(functools.partial(Tools().search, 2), RULES, name="both")
    assert partial() == KEPT and partial.__name__ == "both"


def test_async_functions_and_generators():
    async def one() -> Any:
        return ISSUES

    async def each() -> Any:
        for issue in ISSUES:
            yield [issue]

    def every() -> Any:
        yield [ISSUES[0]]
        yield [ISSUES[1]]

    async def run() -> None:
        tool = tamis.filter_tool(one, RULES)
        assert inspect.iscoroutinefunction(tool) and await tool() == KEPT
        tool = tamis.filter_tool(each, RULES)
        assert inspect.isasyncgenfunction(tool)
        assert [value async for value in tool()] == [KEPT[:1], KEPT[1:]]
        # A plain function that returns a coroutine.
        assert await tamis.filter_tool(lambda: one(), RULES)() == KEPT

    asyncio.run(run())
    tool = tamis.filter_tool(every, RULES)
    assert inspect.isgeneratorfunction(tool) and list(tool()) == [KEPT[:1], KEPT[1:]]


def test_every_kind_of_result():
    text = '[{"id":1,"title":"a","body":"long"}]'
    assert filtered(text) == '[{"id":1,"title":"a"}]'
    assert filtered(text.encode()) == b'[{"id":1,"title":"a"}]'
    assert filtered("no JSON") == "no JSON"
    assert filtered(None) is None and filtered(7) == 7
    assert filtered([Issue(id=1, title="a")]) == KEPT[:1]
    assert filtered(Issue(id=1, title="a")) == KEPT[0]
    assert filtered(tuple(ISSUES)) == KEPT
    page = Page(items=ISSUES, made=datetime.date(2026, 3, 9))
    assert filtered(page, {**RULES, "root": "items"}) == {"items": KEPT, "made": "2026-03-09"}
    others = {"id": uuid.UUID(int=7), "colour": Colour.RED, "tags": {"x"}}
    assert filtered(others, {"exclude": ["tags"], "root": "object"}) == {"id": str(uuid.UUID(int=7)), "colour": "red"}
    # A value without a form in JSON passes a filter that saves.
    odd = {"id": object()}
    assert filtered(odd) is odd


def test_results_of_mcp():
    text = '[{"id":1,"title":"a","body":"long"}]'
    envelope = {"content": [{"type": "text", "text": text}], "isError": False}
    kept = {"content": [{"type": "text", "text": '[{"id":1,"title":"a"}]'}], "isError": False}
    assert filtered(envelope) == kept
    # The texts are filtered, and not only the members around them.
    leak = {"content": [{"type": "text", "text": f'{{"id":1,"ssn":"{SECRET}"}}'}], "note": SECRET}
    assert filtered(leak, SAFE) == {"content": [{"type": "text", "text": '{"id":1}'}]}
    # Also next to a kind of block that is not known.
    for contents in ([leak["content"][0], {"type": "video", "url": "x"}], [{"type": "video"}, leak["content"][0]]):
        for result in ({"content": contents}, contents, tuple(contents)):
            assert SECRET not in str(filtered(result, SAFE))
    assert filtered({"content": [*envelope["content"], {"type": "video"}]})["content"] == [*kept["content"], {"type": "video"}]
    types = pytest.importorskip("mcp.types")
    result = types.CallToolResult(content=[types.TextContent(type="text", text=text)])
    found = filtered(result)
    assert type(found) is types.CallToolResult and found.content[0].text == '[{"id":1,"title":"a"}]'


def test_what_removes_for_safety_fails_closed():
    assert filtered({"id": 1, "ssn": SECRET}, SAFE) == {"id": 1}
    for result in (f"ssn {SECRET}", f"ssn {SECRET}".encode(), {"ssn": SECRET, "x": object()}, b"\xff" + SECRET.encode()):
        found = filtered(result, SAFE)
        assert type(found) in (str, bytes) and SECRET not in str(found) and "withheld" in str(found)
    found = filtered({"content": [{"type": "text", "text": SECRET}]}, SAFE)
    assert found["isError"] is True and SECRET not in str(found)

    class Refused(Exception):
        pass

    def broken() -> Any:
        raise Refused(f"no {SECRET}")

    async def later() -> Any:
        raise Refused(f"no {SECRET}")

    for call in (tamis.filter_tool(broken, SAFE), lambda: asyncio.run(tamis.filter_tool(later, SAFE)())):
        with pytest.raises(Refused) as caught:
            call()
        assert SECRET not in str(caught.value)
    # A filter that saves leaves errors alone.
    with pytest.raises(Refused, match=SECRET):
        tamis.filter_tool(broken, RULES)()


def test_comfort_of_the_package():
    import importlib.metadata
    import pickle
    import weakref

    assert tamis.__version__ == importlib.metadata.version("tamis")
    # None has not been given.
    assert tamis.Program(select=["id"], max_items=None, budget=None) == tamis.Program(select=["id"])
    program = tamis.Program(select=["id"])
    assert program.filter('[{"id":1}]', budget=None) == b'[{"id":1}]'
    assert program == pickle.loads(pickle.dumps(program)) and len({program, tamis.Program(select=("id",))}) == 1
    assert program != tamis.Program(select=["x"]) and program != "x" and weakref.ref(program)() is program
    with pytest.raises(ValueError, match="byte 1"):
        program.filter("[oops")
    with pytest.raises(tamis.Error, match="did you mean `select`"):
        tamis.Program(slect=["id"])


def test_files_are_replaced_when_a_run_succeeds(tmp_path):
    (tmp_path / "a.json").write_text('[{"id": 1, "x": 2}]')
    program = tamis.Program(select=["id"])
    program.filter_file(tmp_path / "a.json", tmp_path / "b.json")
    assert (tmp_path / "b.json").read_text() == '[{"id":1}]'
    # Also the input itself.
    program.filter_file(tmp_path / "a.json", str(tmp_path / "a.json"))
    assert (tmp_path / "a.json").read_text() == '[{"id":1}]'
    (tmp_path / "bad.json").write_text("[oops")
    with pytest.raises(tamis.Error):
        program.filter_file(tmp_path / "bad.json", tmp_path / "b.json")
    assert (tmp_path / "b.json").read_text() == '[{"id":1}]'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json", "bad.json"]
    # An error names the path of the caller, and not that of a temporary file.
    missing = tmp_path / "none" / "b.json"
    with pytest.raises(FileNotFoundError) as caught:
        program.filter_file(tmp_path / "a.json", missing)
    assert caught.value.filename == str(missing) and ".tamis-" not in str(caught.value)
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as caught:
        program.filter_file(tmp_path / "a.json", tmp_path / "folder")
    assert caught.value.filename == str(tmp_path / "folder") and ".tamis-" not in str(caught.value)
