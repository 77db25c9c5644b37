"""Scopes, their folders, and names that code makes from ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.identity.scopes import SHARED, Scope, Visibility, decode_name, encode_name, is_safe_name, stricter


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("qq:10001", "qq-10001"),
        ("tg:-1001234", "tg--1001234"),
        ("cli:local", "cli-local"),
        ("wx:O9cq_80@im.wechat", "wx-_4f9cq_5f80_40im.wechat"),
        ("http:桌面", "http-_e6_a1_8c_e9_9d_a2"),
        ("qq:../../etc", "qq-.._2f.._2fetc"),
    ],
)
def test_names_are_readable_where_they_can_be_and_go_back(text: str, name: str) -> None:
    assert encode_name(text) == name
    assert decode_name(name) == text
    assert is_safe_name(name)


texts = st.text(min_size=1, max_size=20).filter(lambda text: not text.startswith(":"))


@given(texts, texts)
def test_no_two_texts_share_a_name(one: str, other: str) -> None:
    assert decode_name(encode_name(one)) == one
    assert (encode_name(one).casefold() == encode_name(other).casefold()) is (one == other)
    assert is_safe_name(encode_name(one))


@pytest.mark.parametrize("name", ["", "QQ-1", "qq-1_2", "qq-_41_4", "qq-_61", "..", "a/b", "qq-é"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError):
        decode_name(name)


@pytest.mark.parametrize("text", ["", ":", ":10001", "wx:" + "长" * 30])
def test_what_makes_no_folder_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        encode_name(text)


@pytest.mark.parametrize(
    ("scope", "folder"),
    [
        (Scope.of_person("owner"), "users/owner"),
        (Scope.of_person("qq-10001"), "users/qq-10001"),
        (Scope.of_person("小丽"), "users/小丽"),
        (Scope.of_group("qq:777"), "groups/qq-777"),
        (SHARED, "shared"),
    ],
)
def test_a_scope_has_one_folder(scope: Scope, folder: str) -> None:
    assert scope.folder == folder
    assert Scope.of_path(f"{folder}/profile.md") == scope


@pytest.mark.parametrize("person", ["", "..", "../x", "a/b", ".git", "A", "ｑｑ", "a\0b"])
def test_no_folder_is_made_from_an_id_that_code_did_not_make(person: str) -> None:
    with pytest.raises(ValueError):
        _ = Scope.of_person(person).folder


@pytest.mark.parametrize(
    "path",
    ["", "users", "users/owner", "users/../x.md", "users/Owner/x.md", "groups/QQ-7/x.md", "other/x.md", "shared"],
)
def test_paths_of_no_scope(path: str) -> None:
    assert Scope.of_path(path) is None


def test_the_stricter_label_wins() -> None:
    assert stricter(Visibility.PUBLIC, Visibility.OWN) is Visibility.OWN
    assert stricter(Visibility.PRIVATE, Visibility.OWN) is Visibility.PRIVATE
