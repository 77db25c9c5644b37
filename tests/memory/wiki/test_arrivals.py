"""What comes from another copy is sorted out, or refused with its name before anything of it is used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import RemoteRefused
from qingtuan.memory.wiki.arrivals import refuse_huge, sorted_out
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.git_objects import Blob

PAGE = "users/owner/profile.md"
FILE = Blob("100644", "a" * 40)


def arrived(*paths: str | bytes, present: tuple[str, ...] = (), mode: str = "100644") -> list[str]:
    names = [path.encode() if isinstance(path, str) else path for path in paths]
    found = sorted_out({name: Blob(mode, "a" * 40) for name in names}, present)
    return sorted(found.pages)


def test_pages_and_what_is_beside_them() -> None:
    found = sorted_out(
        {PAGE.encode(): FILE, b"shared/notes/a.md": None, b"attachments/x.png": FILE, b"users/owner/diary/a.md": FILE},
        [PAGE],
    )
    assert found.pages == {PAGE: FILE, "shared/notes/a.md": None}
    assert found.beside == {"attachments/x.png": FILE, "users/owner/diary/a.md": FILE}


@pytest.mark.parametrize(
    ("paths", "mode", "said"),
    [
        ([PAGE], "120000", "links"),
        (["attachments"], "120000", "links"),
        (["vendor"], "160000", "submodules"),
        ([".gitmodules"], "100644", "submodules"),
        ([b"users/owner/notes/\xff.md"], "100644", "UTF-8"),
        (["users/owner/.git/config"], "100644", "fit for no file"),
        (["users/owner/.GIT/hooks/x"], "100644", "fit for no file"),
        (["users/owner/.git . /x"], "100644", "fit for no file"),
        (["../x.md"], "100644", "fit for no file"),
        (["users//x.md"], "100644", "fit for no file"),
        (["a\\b.md"], "100644", "fit for no file"),
        (["users/owner/notes/a\nb.md"], "100644", "fit for no file"),
        (["users/owner/notes/A.md", "users/owner/notes/a.md"], "100644", "overwrite"),
        (["users/Owner/notes/a.md", "users/owner/notes/b.md"], "100644", "overwrite"),
        (["notes/caf\u00e9.md", "notes/cafe\u0301.md"], "100644", "overwrite"),
    ],
)
def test_what_is_not_taken_is_named(paths: list[str | bytes], mode: str, said: str) -> None:
    with pytest.raises(RemoteRefused, match=said) as caught:
        arrived(*paths, mode=mode)
    assert "\n" not in caught.value.words.zh


def test_what_collides_with_what_is_here() -> None:
    assert arrived(PAGE, present=(PAGE,)) == [PAGE]
    assert arrived("users/owner/notes/git/.github.md", "users/owner/notes/git/a.md") == ["users/owner/notes/git/a.md"]
    assert arrived("users/owner/notes/é.md", present=("users/owner/notes/e.md",)) == ["users/owner/notes/é.md"]
    with pytest.raises(RemoteRefused, match="overwrite"):
        arrived("users/owner/Profile.md", present=(PAGE,))
    # A name that only changes its case there: the old spelling goes.
    found = sorted_out({b"users/owner/Profile.md": FILE, PAGE.encode(): None}, [PAGE])
    assert found.pages == {"users/owner/Profile.md": FILE, PAGE: None}
    # What has stood here before in two spellings is the owner's business.
    assert arrived(PAGE, present=("notes/A.md", "notes/a.md")) == [PAGE]


def test_many_are_counted() -> None:
    with pytest.raises(RemoteRefused, match="and 2 more"):
        arrived(*(f"link{number}" for number in range(5)), mode="120000")


def test_what_is_huge() -> None:
    found = sorted_out({PAGE.encode(): Blob("100644", "a"), b"x.png": Blob("100644", "b")}, [])
    refuse_huge(found, {"a": 10_000_000, "b": 90_000_000})
    for sizes in ({"a": 11_000_000, "b": 1}, {"a": 1, "b": 200_000_000}):
        with pytest.raises(RemoteRefused, match="too large"):
            refuse_huge(found, sizes)


@given(st.dictionaries(st.binary(max_size=30) | st.text(max_size=30).map(str.encode), st.none() | st.just(FILE)))
def test_whatever_comes_only_pages_are_pages(changes: dict[bytes, Blob | None]) -> None:
    try:
        found = sorted_out(changes, [])
    except RemoteRefused:
        return
    assert all(scope_of(path) is not None for path in found.pages)
    assert found.pages.keys() | found.beside.keys() == {path.decode() for path in changes}
