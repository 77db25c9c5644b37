"""Accounts, persons and roles."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import NotAllowed, SettingsWrong
from qingtuan.identity.accounts import KeyOf, is_account, is_shared, may_claim
from qingtuan.identity.people import People, Person
from qingtuan.identity.people_file import read_people
from qingtuan.identity.scopes import Role
from qingtuan.messages import Space

FILE = """\
# 我的人
[persons.owner]
accounts = ["qq:10001", "tg:42"]  # 两个号
timezone = "Asia/Shanghai"

[persons.xiaoli]
accounts = ["qq:10002"]
name = "小丽"
member = true
writes_groups = ["qq:777"]
language = "en"
home = "武汉"

[persons.qq-10003]
accounts = ["qq:10003", "wx:o9@im.wechat"]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "people.toml").write_text(FILE, "utf-8")
    return tmp_path / "people.toml"


def test_the_terminal_is_always_the_owner(tmp_path: Path) -> None:
    people = People.load(tmp_path / "people.toml")
    local = people.find("cli:local")
    assert local is not None
    assert local is people.owner
    assert people.role(local) is Role.OWNER
    assert list(people) == [people.owner]


def test_the_file_binds_accounts_to_persons(path: Path) -> None:
    people = People.load(path)
    assert people.find("tg:42") == people.owner
    assert people.owner.accounts == ("qq:10001", "tg:42", "cli:local")
    assert people.find("qq:10002") == Person(
        "xiaoli", ("qq:10002",), "小丽", True, frozenset({"qq:777"}), None, "en", "武汉"
    )
    assert people.person("xiaoli") == people.find("qq:10002")
    linked = people.find("wx:o9@im.wechat")
    assert linked is not None
    assert linked.id == "qq-10003"


def test_an_unknown_account_is_a_person_of_its_own() -> None:
    people = People()
    stranger = people.find("qq:10001")
    assert stranger == Person("qq-10001", ("qq:10001",))
    assert people.person("qq-10001") == stranger
    assert people.role(stranger) is Role.GUEST


@given(st.from_regex(r"(qq|tg|wx|http):[A-Za-z0-9@._~ü-]{1,30}", fullmatch=True))
def test_ids_go_back_to_their_account(account: str) -> None:
    people = People()
    if person := people.find(account):
        assert people.person(person.id) == person


def test_the_settings_name_owners_and_members(path: Path) -> None:
    people = People.load(path, owner_accounts=["qq:5"], members=["qq:10009", "qq-10003"])
    roles = {account: people.role(person) for account in _ACCOUNTS if (person := people.find(account))}
    assert roles == {
        "qq:5": Role.OWNER,
        "qq:10001": Role.OWNER,
        "qq:10002": Role.MEMBER,
        "qq:10003": Role.MEMBER,
        "wx:o9@im.wechat": Role.MEMBER,
        "qq:10009": Role.MEMBER,
        "qq:10010": Role.GUEST,
    }


_ACCOUNTS = ("qq:5", "qq:10001", "qq:10002", "qq:10003", "wx:o9@im.wechat", "qq:10009", "qq:10010")


def test_empty_lists_mean_nobody() -> None:
    people = People(members=[])
    person = people.find("qq:10001")
    assert person is not None
    assert people.role(person) is Role.GUEST


@pytest.mark.parametrize(
    "account",
    ["qq:80000000", "tg:1087968824", "tg:777000", "tg:136817688", "tg:-100123", "tg:-5"],
)
def test_shared_ids_are_nobody(account: str, tmp_path: Path) -> None:
    assert is_account(account)
    assert is_shared(account)
    assert People(members=[account]).find(account) is None
    with pytest.raises(NotAllowed):
        People().reader(account, Space("group", "tg:-100123"))
    with pytest.raises(SettingsWrong):
        People.load(tmp_path / "people.toml", owner_accounts=[account])


@pytest.mark.parametrize(
    "text",
    [
        "10001",
        "qq:",
        "qq:010001",
        "qq:1０001",
        "QQ:10001",
        "qq:10001 ",
        "qq:1\n",
        "tg:4_2",
        "tg:+4",
        ":x",
        "qq:主人",
        "",
    ],
)
def test_what_is_no_account_is_nobody(text: str) -> None:
    assert not is_account(text)
    assert People().find(text) is None
    assert not may_claim(text)


def test_names_are_nobody(path: Path) -> None:
    people = People.load(path)
    assert people.find("小丽") is None
    assert people.person("小丽") is None
    assert people.find("wx:owner") == Person("wx-owner", ("wx:owner",))


def test_keys_speak_for_their_person(path: Path) -> None:
    whose = {"http:desk": "owner", "a2a:bot": "qq-555", "http:old": "gone", "http:linked": "wx-o9_40im.wechat"}
    people = People.load(path, keys={account: KeyOf(person) for account, person in whose.items()})
    assert people.find("http:desk") == people.owner
    bot = people.find("a2a:bot")
    assert bot is not None
    assert bot.id == "qq-555"
    assert people.find("qq:555") == bot
    assert people.find("http:old") == Person("http-old", ("http:old",))
    linked = people.find("http:linked")
    assert linked is not None
    assert linked.id == "qq-10003"
    assert not may_claim("http:desk")


def test_an_id_that_was_linked_away_names_nobody(path: Path) -> None:
    assert People.load(path).person("qq-10001") is None


def test_a_reader_is_made_for_ones_own_chat_only(path: Path) -> None:
    people = People.load(path)
    reader = people.reader("tg:42", Space("private", "qq:10001"))
    assert (reader.person, reader.role) == ("owner", Role.OWNER)
    with pytest.raises(NotAllowed):
        people.reader("qq:10002", Space("private", "qq:10001"))
    assert people.reader("qq:10010", Space("group", "qq:777")).role is Role.GUEST
    assert people.private_spaces(people.owner) == {
        Space("private", account) for account in ("qq:10001", "tg:42", "cli:local")
    }


def test_nobody_else_gets_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    people = People.load(path)
    path.write_text('[persons.li]\naccounts = ["qq:10002", "cli:local"]\n', "utf-8")
    with pytest.raises(SettingsWrong) as refused:
        People.load(path)
    assert "cli:local" in str(refused.value)
    with pytest.raises(SettingsWrong):
        people.look()
    assert people.find("cli:local") == people.owner


def test_two_persons_never_share_an_account() -> None:
    with pytest.raises(ValueError):
        People([Person("a", ("qq:1",)), Person("b", ("qq:1",))])
    with pytest.raises(ValueError):
        People([Person("a", ("qq:1",))], owner_accounts=["qq:1"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[persons.owner]\naccounts = [", 2),
        ("\n[people.a]\n", 2),
        ('[persons.a]\naccounts = ["qq:1"]\n\n[persons.b]\naccounts = [\n  "qq:1",\n]\n', 6),
        ('[persons.a]\naccounts = ["qq:1"]\nmembr = true\n', 3),
        ('[persons.a]\naccounts = "qq:1"\n', 2),
        ('[persons.a]\naccounts = ["10001"]\n', 2),
        ('[persons.a]\naccounts = ["qq:80000000"]\n', 2),
        ('[persons.a]\nmember = "yes"\n', 2),
        ("[persons.a]\nname = 3\n", 2),
        ('[persons.a]\nlanguage = "fr"\n', 2),
        ('[persons.a]\ntimezone = "Mars/Base"\n', 2),
        ('[persons.a]\ntimezone = "../../etc/passwd"\n', 2),
        ('[persons."../x"]\n', 1),
        ('[persons.a-b]\naccounts = ["qq:1"]\n', 1),
        ('[persons.qq-2]\naccounts = ["qq:1"]\n', 1),
        ("[persons]\na = 1\n", 2),
        ("persons = 1\n", 1),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "people.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SettingsWrong) as caught:
        read_people(path)
    assert f"第 {line} 行" in caught.value.words.zh
    assert f"line {line}:" in caught.value.words.en


def test_a_mistyped_name_suggests_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_text("[persons.a]\nacounts = []\n", "utf-8")
    with pytest.raises(SettingsWrong, match="accounts"):
        read_people(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_bytes(b"[persons.a]\n# \xff\n")
    with pytest.raises(SettingsWrong, match="line 2"):
        read_people(path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsWrong, match="line 1"):
        read_people(path)


# As time goes on


def test_a_changed_file_counts_at_once(path: Path) -> None:
    people = People.load(path)
    assert not people.look(), "nothing changed"
    path.write_text(FILE + '\n[persons.lao]\naccounts = ["qq:10004"]\nmember = true\n', "utf-8")
    assert people.look()
    lao = people.find("qq:10004")
    assert lao is not None
    assert (lao.id, people.role(lao)) == ("lao", Role.MEMBER)
    assert not people.look(), "and once"
    path.write_text(path.read_text("utf-8") + "# nothing\n", "utf-8")
    assert not people.look(), "nobody is another by a comment"
    path.unlink()
    assert people.look()
    assert [person.id for person in people] == ["owner"]


def test_a_broken_file_is_kept_out(path: Path) -> None:
    people = People.load(path)
    before = list(people)
    path.write_text("[persons.owner\n", "utf-8")
    with pytest.raises(SettingsWrong, match="line 1"):
        people.look()
    assert list(people) == before
    assert not people.look(), "said once"
    path.write_text('[persons.owner]\naccounts = ["qq:7"]\n', "utf-8")
    assert people.look()
    assert people.owner.accounts == ("qq:7", "cli:local")


def test_the_log_knows_a_person_under_several_ids(path: Path) -> None:
    people = People.load(path, members=["qq:10009"])
    assert people.whose("qq-10002") == "xiaoli"
    assert people.whose("xiaoli") == "xiaoli"
    assert people.whose("wx-o9_40im.wechat") == "qq-10003"
    assert people.whose("qq-10009") == "qq-10009"
    assert people.ids("xiaoli") == {"xiaoli", "qq-10002"}
    reader = people.reader("wx:o9@im.wechat", Space("group", "qq:777"))
    assert reader.ids == {"qq-10003", "wx-o9_40im.wechat"}
    assert reader.is_("wx-o9_40im.wechat")
    assert not reader.is_(None)
