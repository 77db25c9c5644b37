"""Which paths are pages, and that none leads out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import SHARED, Scope
from qingtuan.memory.wiki.walls import FOLDERS, open_folder, scope_of


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "scope"),
        [
            ("shared/aliases.md", SHARED),
            ("shared/rules/图书馆 预约.md", SHARED),
            ("users/owner/profile.md", Scope.of_person("owner")),
            ("users/qq-10001/preferences/library.md", Scope.of_person("qq-10001")),
            ("users/owner/notes/2026/07/旅行.md", Scope.of_person("owner")),
            (f"{Scope.of_group('qq:777').folder}/rules/a.md", Scope.of_group("qq:777")),
            (f"{Scope.of_group('tg:-100123').folder}/records/a.md", Scope.of_group("tg:-100123")),
        ],
    )
    def test_pages_of_the_known_folders_have_a_scope(self, path: str, scope: Scope) -> None:
        assert scope_of(path) == scope

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "README.md",
            "shared",
            "shared/",
            "users/owner",
            "users/owner.md",
            "users/owner/",
            "users/owner/secrets/a.md",
            "users/owner/notes/a.txt",
            "users/owner/notes/a.MD",
            "users/owner/notes/.md",
            "users/owner/notes/.hidden.md",
            "users/owner/notes/.#a.md",
            "users/owner/notes/#a.md",
            "users/owner/notes/~a.md",
            "users/owner/notes/a.md~",
            "users/owner/notes/a.md.tmp",
            "users/owner/notes/.qingtuan-0123.tmp",
            "users/owner/notes/../../../etc/passwd.md",
            "users/../shared/a.md",
            "users/owner/./profile.md",
            "users/owner//profile.md",
            "/users/owner/profile.md",
            "/etc/passwd.md",
            "~/a.md",
            "users/owner/notes/a\0.md",
            "users/owner/notes/a\nb.md",
            "users/owner/notes/a\u2028b.md",
            "users/owner/notes/a\udcff.md",
            "users\\owner\\notes\\a.md",
            "users/owner/notes/..\\..\\a.md",
            "C:/users/owner/notes/a.md",
            "users/Owner/notes/a.md",
            "users/.git/notes/a.md",
            "users/owner/notes/.git/a.md",
            "users/owner/notes/.obsidian/a.md",
            "users/owner/notes/.trash/a.md",
            ".git/notes/a.md",
            "groups/QQ-777/rules/a.md",
            "users/owner/notes/" + "长" * 86 + ".md",
            "users/owner/notes/" + "a/" * 12 + "a.md",
            "users/owner/notes/" + ("b" * 200 + "/") * 5 + "a.md",
        ],
    )
    def test_everything_else_is_no_page(self, path: str) -> None:
        assert scope_of(path) is None

    @given(
        st.text(max_size=60)
        | st.lists(st.sampled_from(["users", "owner", "..", ".", "", "a.md", "notes"])).map("/".join)
    )
    def test_what_is_a_page_stays_within_its_scope(self, path: str) -> None:
        scope = scope_of(path)
        if scope is not None:
            assert os.path.normpath(path) == path
            assert path.startswith(f"{scope.folder}/")
            assert path.endswith(".md")

    @given(st.text(min_size=1, max_size=60), st.sampled_from(sorted(FOLDERS)))
    def test_any_group_has_pages_and_they_are_its_own(self, name: str, folder: str) -> None:
        try:
            scope = Scope.of_group(name)
            path = f"{scope.folder}/{folder}/page.md"
        except (ValueError, UnicodeEncodeError):
            return
        assert scope_of(path) == scope


class TestOpening:
    def test_folders_are_opened_and_made_for_the_owner_alone(self, tmp_path: Path) -> None:
        assert open_folder(tmp_path, ["users", "owner"]) is None
        handle = open_folder(tmp_path, ["users", "owner"], make=True)
        assert handle is not None
        os.close(handle)
        assert (tmp_path / "users" / "owner").stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("depth", [0, 1, 2])
    @pytest.mark.parametrize("make", [False, True])
    def test_a_link_anywhere_on_the_way_is_not_followed(self, tmp_path: Path, depth: int, make: bool) -> None:
        outside = tmp_path / "outside"
        (outside / "owner" / "notes").mkdir(parents=True)
        (outside / "notes").mkdir()
        parts = ["users", "owner", "notes"]
        root = tmp_path / "wiki"
        (root / Path(*parts[:depth])).mkdir(parents=True)
        (root / Path(*parts[: depth + 1])).symlink_to(outside, target_is_directory=True)
        with pytest.raises(PageUnreadable):
            open_folder(root, parts, make=make)

    def test_a_file_on_the_way_is_no_folder(self, tmp_path: Path) -> None:
        (tmp_path / "users").write_text("")
        with pytest.raises(PageUnreadable):
            open_folder(tmp_path, ["users", "owner"])

    def test_the_wiki_itself_may_be_a_link_that_the_owner_made(self, tmp_path: Path) -> None:
        (tmp_path / "vault" / "users").mkdir(parents=True)
        (tmp_path / "wiki").symlink_to(tmp_path / "vault", target_is_directory=True)
        handle = open_folder(tmp_path / "wiki", ["users"])
        assert handle is not None
        os.close(handle)

    def test_no_handle_is_left_open(self, tmp_path: Path) -> None:
        (tmp_path / "users").mkdir()
        (tmp_path / "users" / "link").symlink_to("/")
        before = len(list(Path("/dev/fd").iterdir()))
        for _ in range(20):
            assert open_folder(tmp_path, ["users", "missing"]) is None
            with pytest.raises(PageUnreadable):
                open_folder(tmp_path, ["users", "link"])
        assert len(list(Path("/dev/fd").iterdir())) == before
