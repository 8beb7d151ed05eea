"""Bodies that are not plain JSON, in httpx and in ASGI: nothing passes a filter for safety, and nothing breaks without need."""

import asyncio
import contextlib
import gzip
import json
import zlib

import httpx
import pytest
import tamis
from tamis.adapters._body import body_filter
from tamis.adapters.asgi import FilterMiddleware
from tamis.adapters.httpx import AsyncFilterTransport, FilterTransport

REMOVES = tamis.Program(exclude=["ssn"])
SAVES = tamis.Program(select=["id"])
REDACTS = tamis.Program(redact="secrets")
TEXT = b'{"id":1,"ssn":"SECRET"}'
ADDRESS = b"see https://mira:tide@example.org/"
REDACTED = b"see https://mira:[redacted:url-password]@example.org/"
JSON = "application/json"


def from_httpx(rules, body, media_type, status=200, **headers):
    """Return the response of a client, or `None` if the body cannot be read."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    headers |= {"content-type": media_type} if media_type else {}

    def handle(request):
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(body))

    try:
        with httpx.Client(transport=FilterTransport(rules, httpx.MockTransport(handle))) as client:
            return client.get("https://mira:pw@api.test/x?page=1")
    except tamis.Error:
        return None


def from_asgi(rules, body, media_type, status=200, **headers):
    """Return the response of an application, or `None` if it is withheld."""
    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    headers += [(b"content-type", media_type.encode())] if media_type else []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body"})

    async def get():
        transport = httpx.ASGITransport(app=FilterMiddleware(app, rules))
        async with httpx.AsyncClient(transport=transport, base_url="https://api.test") as client:
            return await client.get("/x")

    response = asyncio.run(get())
    return None if response.status_code == 502 else response


def head_of_httpx(rules, headers):
    handler = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers))
    asynchronous = httpx.AsyncClient(transport=AsyncFilterTransport(rules, handler))
    with httpx.Client(transport=FilterTransport(rules, handler)) as client:
        found = client.head("https://api.test/x")
    assert asyncio.run(asynchronous.head("https://api.test/x")).headers == found.headers
    return found


def head_of_asgi(rules, headers):
    async def app(scope, receive, send):
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        await send({"type": "http.response.body", "body": gzip.compress(TEXT)})

    bodies = []

    async def seen(scope, receive, send):
        async def recorded(message):
            bodies.append(message.get("body", b""))
            await send(message if message["type"] != "http.response.body" else {**message, "body": b""})

        await FilterMiddleware(app, rules)(scope, receive, recorded)

    async def head():
        transport = httpx.ASGITransport(app=seen)
        async with httpx.AsyncClient(transport=transport, base_url="https://api.test") as client:
            return await client.head("/x")

    found = asyncio.run(head())
    # A body that the application sends all the same is not filtered, and must not pass.
    assert callable(rules) or not any(bodies)
    return found


@pytest.mark.parametrize("head", [head_of_httpx, head_of_asgi], ids=["httpx", "asgi"])
def test_a_response_to_head_has_no_headers_of_the_unfiltered_body(head):
    described = {"content-type": JSON, "content-length": "812", "content-encoding": "gzip", "etag": '"a"', "digest": "x", "x-id": "7"}
    for rules in (SAVES, REMOVES):
        assert dict(head(rules, described).headers) == {"content-type": JSON, "x-id": "7"}
    # A filter that would not apply to the body, or no body at all.
    image = {**described, "content-type": "image/png"}
    empty = {**described, "content-length": "0"}
    for rules, headers in ((SAVES, image), (lambda request: None, described), (SAVES, empty)):
        assert dict(head(rules, headers).headers) == headers
    # A coding that nothing decodes: no error is raised for a body that is not there.
    assert head(REMOVES, {**described, "content-encoding": "odd"}).headers.get("content-length") != "812"


BOTH = pytest.mark.parametrize("get", [from_httpx, from_asgi], ids=["httpx", "asgi"])


@BOTH
@pytest.mark.parametrize("media_type", [JSON, "text/json", "application/x-json", "text/plain", "image/png", ""])
def test_every_media_type_is_filtered_for_safety(get, media_type):
    assert get(REMOVES, TEXT, media_type).content == b'{"id":1}'
    assert get(REMOVES, b"no JSON, SECRET", media_type) is None


@BOTH
def test_media_types_and_filters_that_only_save(get):
    for media_type in ("text/plain", "", "image/png"):
        assert get(SAVES, TEXT, media_type).content == TEXT
    assert get(SAVES, TEXT, "text/json").content == b'{"id":1}'


@BOTH
def test_lines(get):
    for media_type in ("application/x-ndjson", "application/jsonl; charset=utf-8"):
        assert get(REMOVES, TEXT + b"\n\n" + TEXT, media_type).content.split() == [b'{"id":1}'] * 2
    wrong = TEXT + b"\nSECRET\n"
    assert get(SAVES, wrong, "application/x-ndjson").content == wrong
    assert get(REMOVES, b"SECRET\n", "application/x-ndjson") is None


@BOTH
def test_texts_are_searched_for_credentials(get):
    assert get(REDACTS, ADDRESS, "text/html; charset=utf-8").content == REDACTED
    assert get(REDACTS, json.dumps({"x": ADDRESS.decode()}).encode(), "text/plain").json() == {"x": REDACTED.decode()}
    for media_type in ("text/html; charset=utf-16", "application/pdf", ""):
        assert get(REDACTS, ADDRESS, media_type) is None


@BOTH
def test_event_streams(get):
    events = b': ping\r\n\r\nid: 7\r\ndata: {"id": 1, "ssn": "SECRET"}\r\n\r\ndata: [DONE]\r\n\r\n'
    filtered = b': ping\r\n\r\nid: 7\r\ndata: {"id":1}\r\n\r\ndata: [DONE]\r\n\r\n'
    for rules in (REMOVES, SAVES):
        assert get(rules, events, "text/event-stream; charset=utf-8").content == filtered
    wrong = b'data: SECRET\n\ndata: {"id": 1, "x": 2}\n\n'
    assert get(SAVES, wrong, "text/event-stream").content == b'data: SECRET\n\ndata: {"id":1}\n\n'
    assert get(REMOVES, wrong, "text/event-stream") is None


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_events_are_filtered_as_they_arrive(line_end):
    first, second = (b'data: {"id": %d, "x": 0}' % id + line_end * 2 for id in (1, 2))
    for size in (1, 2, 3, 5, 100):
        body = body_filter(SAVES, "text/event-stream", 1000, False)
        output, sent = b"", []
        for start in range(0, len(first), size):
            output += body.write(first[start : start + size])
        sent.append(output)
        output += b"".join(body.write(second[start : start + size]) for start in range(0, len(second), size))
        output += body.end()
        assert output == b"".join(b'data: {"id":%d}' % id + line_end * 2 for id in (1, 2)), size
        # An event is sent when it is complete. After CR, an LF may still belong to the line end.
        assert sent[0].startswith(b'data: {"id":1}'), size


def test_an_event_that_is_too_long_is_not_held():
    long = b'data: {"id": 1, "ssn": "' + b"x" * 100 + b'"}\n\n'
    body = body_filter(SAVES, "text/event-stream", 50, False)
    assert body.write(long[:90]) + body.write(long[90:]) + body.end() == long
    body = body_filter(REMOVES, "text/event-stream", 50, False)
    with pytest.raises(tamis.Error, match="buffer limit of 50 bytes"):
        body.write(long[:90])


def deflated(body, bits):
    encoder = zlib.compressobj(wbits=bits)
    return encoder.compress(body) + encoder.flush()


@pytest.mark.parametrize("rules", [REMOVES, SAVES], ids=["removes", "saves"])
def test_encoded_bodies_of_an_application_are_decoded(rules):
    text = TEXT[:-1] + b',"ssn":"%s"}' % (b"SECRET" * 100_000)
    codings = [("gzip", gzip.compress(text)), ("x-gzip", gzip.compress(text[:9]) + gzip.compress(text[9:]))]
    codings += [("deflate", deflated(text, bits)) for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS)]
    for coding, body in codings:
        response = from_asgi(rules, body, JSON, content_encoding=coding, content_length=str(len(body)))
        assert (response.content, "content-encoding" in response.headers) == (b'{"id":1}', False), coding
        # The connection is broken off if the output has begun already.
        with contextlib.suppress(tamis.Error):
            assert from_asgi(REMOVES, body[:-9], JSON, content_encoding=coding) is None


def test_a_coding_that_hides_the_body_is_reported():
    for rules in (REMOVES, SAVES):
        with pytest.warns(RuntimeWarning, match="content coding `snappy`.* before the middleware that encodes"):
            from_asgi(rules, TEXT, JSON, content_encoding="snappy")


@pytest.mark.parametrize("adapter", [FilterTransport, AsyncFilterTransport, lambda rules: FilterMiddleware(None, rules)])
def test_routes_of_frameworks_are_not_patterns(adapter):
    for pattern in ("/users/{id}", "/users/:id", "/users/(.*)", "/users/<int:id>", "^/users/", "/users/.*", "/(a|b)"):
        with pytest.raises(ValueError, match="would match no address; write `\\*`"):
            adapter({pattern: SAVES})
    adapter({"https://api.*/users/*": SAVES, "/v1/*:cancel": SAVES, "/Users[(]*)": SAVES, "/.well-known/*": SAVES})


def test_a_text_that_is_too_long_is_not_held():
    def handle(request):
        return httpx.Response(200, headers={"content-type": "text/plain"}, content=ADDRESS)

    transport = FilterTransport(REDACTS, httpx.MockTransport(handle), buffered=10)
    with httpx.Client(transport=transport) as client, pytest.raises(tamis.Error, match="buffer limit of 10 bytes") as caught:
        client.get("https://api.test/")
    assert (caught.value.kind, caught.value.fault) == ("limit", "limit")


@BOTH
@pytest.mark.parametrize("rules", [REMOVES, SAVES], ids=["removes", "saves"])
@pytest.mark.parametrize("status", [200, 201, 204, 304])
def test_empty_bodies_pass(get, rules, status):
    response = get(rules, b"", JSON, status, etag="x")
    assert (response.status_code, response.content) == (status, b"")
    assert get(rules, b"", JSON, status, content_length="0").headers["content-length"] == "0"


@BOTH
def test_codings_that_cannot_be_decoded(get):
    response = get(SAVES, b"SECRET", JSON, content_encoding="snappy")
    assert (response.content, response.headers["content-encoding"]) == (b"SECRET", "snappy")
    for coding in ("snappy", "gzip, snappy"):
        assert get(REMOVES, TEXT, JSON, content_encoding=coding) is None


@BOTH
def test_digests_of_the_original_are_dropped(get):
    digests = dict.fromkeys(("content_digest", "repr_digest", "digest", "content_md5", "etag"), "x")
    found = get(REMOVES, TEXT, JSON, x_kept="x", **digests).headers
    assert "x-kept" in found and not {name.replace("_", "-") for name in digests} & set(found)


def test_user_names_in_addresses():
    rules = {"https://api.test/*": REMOVES}
    assert from_httpx(rules, TEXT, JSON).content == b'{"id":1}'


@pytest.mark.parametrize("adapter", [FilterTransport, AsyncFilterTransport, lambda rules: FilterMiddleware(None, rules)])
def test_rules_of_another_type(adapter):
    for rules in (tamis.Manifest("version: 1\nfilters: {a: {select: [id]}}\n"), None, {"*": "tamis.yaml"}):
        with pytest.raises(TypeError, match="^expected .*, found"):
            adapter(rules)
    with pytest.raises(tamis.Error, match="unknown"):
        adapter({"*": {"unknown": 1}})


@BOTH
def test_rules_are_compiled(get):
    assert get({"*": {"exclude": ["ssn"]}}, TEXT, JSON).content == b'{"id":1}'
