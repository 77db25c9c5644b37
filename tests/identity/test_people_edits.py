"""people.toml when accounts are linked and parted: every comment stays, and parting gives back what linking took."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qingtuan.identity.accounts import Person
from qingtuan.identity.people import People
from qingtuan.identity.people_edits import HEADER, Taken, forgotten, linked, parted
from qingtuan.identity.people_file import persons_in

NOWHERE = Path("people.toml")
FILE = """\
# 我的人
[persons.owner]
accounts = ["qq:10001", "tg:42"]  # 两个号
timezone = "Asia/Shanghai"

[persons.xiaoli]
accounts = ["qq:10002"]
name = "小丽"  # 同学
member = true
writes_groups = ["qq:777"]
home = "武汉"

# 最后
[persons.qq-10003]
accounts = ["qq:10003"]
"""


def persons(text: str) -> dict[str, Person]:
    return {person.id: person for person in persons_in(NOWHERE, text)}


def test_an_account_that_the_file_does_not_name_is_added() -> None:
    text, taken = linked(FILE, persons(FILE)["owner"], Person("wx-me", ("wx:me",)), ["wx:me"])
    assert text.replace(', "wx:me"', "") == FILE
    assert taken == Taken(("wx:me",))
    assert parted(text, "owner", "wx-me", taken) == FILE


def test_a_person_who_goes_leaves_what_only_they_had() -> None:
    known = persons(FILE)
    text, taken = linked(FILE, known["qq-10003"], known["xiaoli"], ["qq:10002"])
    after = persons(text)
    assert list(after) == ["owner", "qq-10003"]
    kept = after["qq-10003"]
    assert (kept.accounts, kept.member, kept.home, kept.name) == (("qq:10003", "qq:10002"), True, "武汉", "小丽")
    assert kept.writes_groups == {"qq:777"}
    assert "# 我的人" in text
    assert "# 最后" in text
    again = parted(text, "qq-10003", "xiaoli", Taken.of(taken.payload()))
    assert persons(again) == known
    assert "# 同学" in again


def test_what_stays_keeps_its_own() -> None:
    known = persons(FILE)
    text, taken = linked(FILE, known["owner"], known["xiaoli"], ["qq:10002"])
    owner = persons(text)["owner"]
    assert owner.timezone == "Asia/Shanghai"
    assert owner.home == "武汉"
    changed = text.replace('home = "武汉"', 'home = "南京"')
    again = persons(parted(changed, "owner", "xiaoli", taken))
    assert again["owner"].home == "南京", "somebody changed it since"
    assert again["xiaoli"] == known["xiaoli"]


def test_the_file_may_be_missing() -> None:
    text, taken = linked("", Person("qq-1", ("qq:1",)), Person("tg-2", ("tg:2",)), ["tg:2"])
    assert text.startswith("# 账号属于谁")
    assert persons(text) == {"qq-1": Person("qq-1", ("qq:1", "tg:2"))}
    assert persons(parted(text, "qq-1", "tg-2", taken)) == {"qq-1": Person("qq-1", ("qq:1",))}


def test_linking_twice_is_linking_once() -> None:
    known = persons(FILE)
    text, _ = linked(FILE, known["owner"], Person("wx-me", ("wx:me",)), ["wx:me"])
    assert linked(text, known["owner"], Person("wx-me", ()), ["wx:me"])[0] == text


@pytest.mark.parametrize(
    "text",
    [
        'persons = {owner = {accounts = ["qq:1"]}, li = {accounts = ["qq:2"], member = true}}\n',
        '[persons]\nowner.accounts = ["qq:1"]\nli.accounts = ["qq:2"]\nli.member = true\n',
        '[persons.owner]\naccounts = ["qq:1"]\n[persons."li"]\naccounts = [\n  "qq:2", # x\n]\nmember = true',
        '[persons.li]\r\naccounts = ["qq:2"]\r\nmember = true\r\n[persons.owner]\r\naccounts = ["qq:1"]\r\n',
        '[persons."小李"]\naccounts = []\n[persons.owner]\naccounts = ["qq:1"]\n[persons.li]\naccounts = ["qq:2"]\n',
    ],
)
def test_it_may_be_written_in_any_way(text: str) -> None:
    known = persons(text)
    after, taken = linked(text, known["owner"], known["li"], ["qq:2"])
    assert "li" not in persons(after)
    assert persons(after)["owner"].accounts == ("qq:1", "qq:2")
    assert persons(parted(after, "owner", "li", taken)) == known


names = st.sampled_from(["a", "b", "c", "owner"])
tables = st.fixed_dictionaries(
    {}, optional={"member": st.booleans(), "home": st.sampled_from(["武汉", 'x"y']), "name": st.just("名字")}
)


@settings(deadline=None, max_examples=100)
@given(st.dictionaries(names, tables, min_size=2), st.data())
def test_parting_gives_back_what_linking_took(people: dict[str, dict[str, object]], data: st.DataObject) -> None:
    import tomlkit

    for number, table in enumerate(people.values()):
        table["accounts"] = [f"qq:{number + 1}"]
    text = tomlkit.dumps({"persons": people})
    before = persons(text)
    kept, gone = data.draw(st.permutations(sorted(people)))[:2]
    if gone == "owner":
        kept, gone = gone, kept
    after, taken = linked(text, before[kept], before[gone], before[gone].accounts)
    assert set(persons(after)) == set(before) - {gone}
    assert persons(parted(after, kept, gone, taken)) == before


def test_a_change_that_would_break_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.toml"
    path.write_text(FILE, "utf-8")
    people = People.load(path)
    with pytest.raises(Exception, match="line"):
        people.rewrite(lambda text: text + "[persons.x\n")
    with pytest.raises(Exception, match="line"):
        people.would_say(lambda text: text + "[persons.x\n")
    assert path.read_text("utf-8") == FILE
    before, after = people.rewrite(lambda text: text + '[persons.neu]\naccounts = ["qq:77"]\n')
    assert (before, path.read_text("utf-8")) == (FILE, after)
    found = people.find("qq:77")
    assert found is not None
    assert found.id == "neu"


NOTED = f"""{HEADER}
# 我的人
[persons.owner]
accounts = ["qq:10001"]  # 两个号
# xiaoli 的生日是 3 月
# lao-xiaoli 不是她

# 同学，
# 从大一起
[persons.xiaoli]
accounts = ["qq:10002"]
name = "小丽"  # 同学

# qq:10002 的哥哥；qq:100021 是别人
[persons.qq-10003]
accounts = ["qq:10003"]
"""


def test_who_is_forgotten_leaves_with_what_was_noted_about_them() -> None:
    text = forgotten(NOTED, ["xiaoli", "qq-10002"], ["xiaoli", "qq:10002"])
    assert (
        text
        == f"""{HEADER}
# 我的人
[persons.owner]
accounts = ["qq:10001"]  # 两个号
# lao-xiaoli 不是她


[persons.qq-10003]
accounts = ["qq:10003"]
"""
    )
    assert forgotten(text, ["xiaoli"], ["xiaoli", "qq:10002"]) == text


def test_who_is_not_in_the_file_is_forgotten_without_changing_it() -> None:
    assert forgotten("", ["xiaoli"], ["xiaoli"]) == ""
    assert forgotten(FILE, ["qq-9"], ["qq-9", "qq:9"]) == FILE


@pytest.mark.parametrize("text", ['persons.li.accounts = ["qq:1"]\n', 'persons = {li = {accounts = ["qq:1"]}}\n'])
def test_the_forgotten_may_stand_there_in_any_way(text: str) -> None:
    assert persons(forgotten(text, ["li"], ["li", "qq:1"])) == {}


def test_a_heading_of_the_file_is_nobodys_note() -> None:
    text = '# 我的人\n[persons.li]\naccounts = ["qq:1"]\n'
    assert forgotten(text, ["li"], ["li", "qq:1"]) == "# 我的人\n"
