"""Content codings of HTTP bodies, decoded in bounded pieces."""

import importlib
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

from ._body import refused

PIECE = 64 << 10
"""The most bytes of a decoded piece, where the decoder can be told."""

STEP = 4 << 10
"""The most encoded bytes that are decoded at once, where it cannot."""


class Decoder(Protocol):
    """Decodes a body that arrives in chunks."""

    def decode(self, data: bytes, /) -> Iterator[bytes]: ...
    def end(self) -> None: ...


def decoder(coding: str) -> Decoder | None:
    """Return the decoder of a content coding, or `None` if it is not known, or its package is not installed."""
    name = coding.strip().lower()
    if name in ("gzip", "x-gzip"):
        return _Zlib(zlib.MAX_WBITS | 16)
    if name == "deflate":
        return _Zlib(zlib.MAX_WBITS)
    if name == "br":
        found = _first("brotli", "brotlicffi")
        return found and _Packaged(found.Decompressor(), "process" if hasattr(found.Decompressor, "process") else "decompress")
    if name == "zstd":
        if found := _first("compression.zstd"):
            return _Packaged(found.ZstdDecompressor(), "decompress")
        found = _first("zstandard")
        return found and _Packaged(found.ZstdDecompressor().decompressobj(), "decompress")
    return None


def _first(*names: str) -> Any:
    """Return the first of these modules that is installed."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


class _Zlib:
    """gzip, with any number of members, and deflate, with or without its header."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inner = zlib.decompressobj(bits)
        self._has_data = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        while data:
            try:
                piece = self._inner.decompress(data, PIECE)
            except zlib.error as error:
                if self._bits != zlib.MAX_WBITS or self._has_data:
                    raise refused("encoding", f"the body cannot be decoded: {error}") from None
                # Some servers send deflate without the header of zlib.
                self._bits = -zlib.MAX_WBITS
                self._inner = zlib.decompressobj(self._bits)
                continue
            self._has_data = True
            if piece:
                yield piece
            data = self._inner.unconsumed_tail
            if self._inner.eof:
                data = self._inner.unused_data.lstrip(b"\0") if self._bits > zlib.MAX_WBITS else b""
                if data:
                    self._inner = zlib.decompressobj(self._bits)

    def end(self) -> None:
        if self._has_data and not self._inner.eof:
            raise refused("encoding", "the encoded body is incomplete")


class _Packaged:
    """A decoder of another package."""

    def __init__(self, inner: Any, method: str) -> None:
        self._inner, self._step = inner, getattr(inner, method)

    def decode(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), STEP):
            try:
                piece = self._step(data[start : start + STEP])
            except Exception as error:  # Each package has errors of its own.
                raise refused("encoding", f"the body cannot be decoded: {error}") from None
            if piece:
                yield piece

    def end(self) -> None:
        is_over = getattr(self._inner, "eof", None)
        if is_over is None and hasattr(self._inner, "is_finished"):
            is_over = self._inner.is_finished()
        if is_over is False:
            raise refused("encoding", "the encoded body is incomplete")
