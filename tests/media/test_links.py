"""A signed link opens one file, for a while."""

from __future__ import annotations

import base64
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.errors import NotThere, StorageFailed
from qingtuan.media.links import Links

NAME = "ab" * 32


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 11, 30, tzinfo=UTC))


@pytest.fixture
def links(tmp_path: Path, clock: ManualClock) -> Links:
    return Links(tmp_path / "links.key", clock, "https://bot.example.com")


def test_a_link_opens_its_file_until_it_expires(links: Links, clock: ManualClock) -> None:
    link = links.sign(NAME)
    assert links.check(link) == NAME
    clock.advance(timedelta(seconds=3600))
    assert links.check(link) == NAME
    clock.advance(timedelta(seconds=1))
    with pytest.raises(NotThere):
        links.check(link)


def test_the_key_is_made_once_for_the_owner_alone(links: Links, clock: ManualClock) -> None:
    link = links.sign(NAME)
    assert stat.S_IMODE(links.key_file.stat().st_mode) == 0o600
    assert Links(links.key_file, clock).check(link) == NAME
    links.key_file.unlink()
    with pytest.raises(NotThere):
        Links(links.key_file, clock).check(link)


def test_a_link_in_its_place_or_a_short_key_is_not_used(links: Links, tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "known").write_bytes(b"x" * 32)
    links.key_file.symlink_to(tmp_path / "known")
    forged = Links(tmp_path / "known", clock).sign(NAME)
    with pytest.raises(NotThere):
        links.check(forged)
    short = Links(tmp_path / "short.key", clock)
    short.key_file.write_bytes(b"")
    assert short.check(short.sign(NAME)) == NAME
    assert len(short.key_file.read_bytes()) == 32


def test_no_other_text_is_a_link(links: Links) -> None:
    link = links.sign(NAME)
    raw = base64.urlsafe_b64decode(link + "==")
    changed = [
        "",
        link[:-1],
        link + "A",
        link + "=",
        link + "\n",
        link.swapcase(),
        f"../{link}",
        NAME,
        *(
            base64.urlsafe_b64encode(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]).decode().rstrip("=")
            for at in range(54)
        ),
    ]
    for text in changed:
        with pytest.raises(NotThere):
            links.check(text)


@given(st.text(max_size=100))
def test_any_text_is_refused_in_the_same_words(text: str) -> None:
    clock = ManualClock(datetime(2026, 11, 30, tzinfo=UTC))
    links = Links(Path("/nowhere/links.key"), clock)
    links._key = b"k" * 32
    with pytest.raises(NotThere, match="wrong or has expired"):
        links.check(text)


def test_a_url_only_where_somebody_can_call_it(links: Links, tmp_path: Path, clock: ManualClock) -> None:
    url = links.url(NAME)
    assert url is not None
    assert url.startswith("https://bot.example.com/image/")
    assert links.check(url.rpartition("/")[2]) == NAME
    assert Links(tmp_path / "links.key", clock).url(NAME) is None


@pytest.mark.parametrize("name", ["", "ab", "zz" * 32, "../x"])
def test_only_hashes_are_signed(links: Links, name: str) -> None:
    with pytest.raises(ValueError):
        links.sign(name)


def test_a_folder_that_cannot_be_written(clock: ManualClock, tmp_path: Path) -> None:
    with pytest.raises(StorageFailed):
        Links(tmp_path / "missing" / "links.key", clock).sign(NAME)
