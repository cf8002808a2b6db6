"""Content codings are undone whole or not at all, and never beyond the limit."""

from __future__ import annotations

import gzip
import importlib
import zlib
from types import ModuleType

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from provtape.dialects import coding
from provtape.dialects.coding import MAX_MEMBERS, decoded

HOW = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}
MEGABYTE = 1_000_000


def bare_deflate(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


@pytest.mark.parametrize("name", HOW)
@given(data=st.binary(max_size=500))
def test_what_was_coded_comes_back(name: str, data: bytes) -> None:
    assert decoded(name, HOW[name](data), 500) == data
    assert decoded(f" {name.upper()} ,", HOW[name](data), 500) == data


def test_deflate_without_its_wrapper_comes_back() -> None:
    assert decoded("deflate", bare_deflate(b"hello" * 9), 100) == b"hello" * 9


def test_several_codings_are_undone_from_the_last() -> None:
    data = HOW["br"](HOW["zstd"](HOW["gzip"](b"hello")))
    assert decoded("gzip, zstd, identity, br", data, 1000) == b"hello"
    assert decoded("gzip, zstd, br", data, 1000) == b"hello"
    assert decoded("br, zstd, gzip", data, 1000) is None


def test_no_coding_leaves_the_data() -> None:
    assert decoded("", b"hello", 5) == decoded("identity", b"hello", 5) == b"hello"
    assert decoded("identity", b"hello", 4) is None


@pytest.mark.parametrize("name", [*HOW, "bare"])
def test_a_cut_body_is_not_believed(name: str) -> None:
    data = bare_deflate(b"hello" * 20) if name == "bare" else HOW[name](b"hello" * 20)
    name = "deflate" if name == "bare" else name
    assert decoded(name, data, 1000) == b"hello" * 20
    assert [decoded(name, data[:at], 1000) for at in range(len(data))] == [None] * len(data)


@pytest.mark.parametrize("name", HOW)
@pytest.mark.parametrize("lie", [b"", b"plain text, no coding", bytes(100)])
def test_a_lie_is_not_believed(name: str, lie: bytes) -> None:
    assert decoded(name, lie, 1000) is None
    assert decoded(name, HOW[name](b"hello") + b"x", 1000) is None


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_members_one_after_the_other_are_one_body_up_to_a_number(name: str) -> None:
    member = HOW[name](b"ab")
    assert decoded(name, member * 3, 6) == b"ababab"
    assert decoded(name, member * 3, 5) is None
    assert decoded(name, member * MAX_MEMBERS, MEGABYTE) == b"ab" * MAX_MEMBERS
    assert decoded(name, member * (MAX_MEMBERS + 1), MEGABYTE) is None


@pytest.mark.parametrize("name", HOW)
def test_a_bomb_stops_at_the_limit(name: str) -> None:
    bomb = HOW[name](bytes(4 * MEGABYTE))
    assert len(bomb) < MEGABYTE / 10
    assert decoded(name, bomb, MEGABYTE) is None
    assert decoded(f"{name},{name}", HOW[name](bomb), MEGABYTE) is None
    assert decoded(name, HOW[name](bytes(MEGABYTE)), MEGABYTE) == bytes(MEGABYTE)


def test_unknown_and_endless_lists_are_left_alone() -> None:
    assert decoded("aes128gcm", b"x", 10) is None
    assert decoded("gzip, \x00", b"x", 10) is None
    assert decoded("identity," * 4, b"x", 10) == b"x"
    assert decoded("identity," * 5, b"x", 10) is None


@pytest.mark.parametrize("name", HOW)
@given(noise=st.binary(max_size=60), at=st.integers(0, 100))
def test_noise_never_raises(name: str, noise: bytes, at: int) -> None:
    data = HOW[name](b"hello" * 5)
    for tried in (noise, data[:at] + noise + data[at + 1 :]):
        result = decoded(name, tried, 50)
        assert result is None or len(result) <= 50


def test_a_frame_that_wants_a_huge_window_is_refused() -> None:
    """Four bytes of magic, a descriptor, a window of some terabytes, one raw block."""
    assert decoded("zstd", b"\x28\xb5\x2f\xfd\x00\xff\x09\x00\x00a", MEGABYTE) is None


@pytest.mark.parametrize(("name", "package"), [("br", "brotli"), ("zstd", "backports.zstd")])
def test_without_its_package_a_coding_is_unknown(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(module: str) -> ModuleType:
        if module in (package, "compression.zstd"):
            raise ImportError(module)
        return importlib.import_module(module)

    monkeypatch.setattr(coding, "import_module", absent)
    assert decoded(name, HOW[name](b"hello"), 100) is None
    assert decoded("gzip", HOW["gzip"](b"hello"), 100) == b"hello"


def test_a_package_that_can_not_bound_its_output_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("brotli")
    monkeypatch.setattr(coding, "import_module", lambda module: old)
    assert decoded("br", HOW["br"](b"hello"), 100) is None
    assert hasattr(brotli.Decompressor, "can_accept_more_data")
