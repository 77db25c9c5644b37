"""What is always and never to be remembered: what lines match, and pages that keep all else as it was."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import NotAllowed, NotThere, PageUnreadable
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.language import Words
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.keeping import Keeping, Rule, Rules, Statement, blank, page_of, rules_of, with_rule, without_rule
from qingtuan.memory.ruling import Ruling
from qingtuan.memory.wiki.page import Page, parse
from tests.memory.wiki.nasty import PAGES
from tests.memory.world import GROUP, World

DAY = date(2026, 11, 29)
PATH = "shared/remembering.md"
OWN = "users/owner/rules/remembering.md"
BY_HAND = """---
type: rule
tags: [mine]
---
# 记什么

随便写的话。

## 总是记住
- 我的课表 <!-- 重要 -->
- 老板说的事

### 细的
- 作业截止时间

## 别的
- 这不是规矩

## 从不记住的
* 体重、健康状况
* salary or bonus

```
- 也不是
```
"""


def page(text: str) -> Page:
    return parse(text.encode())


def texts(found: Page) -> tuple[list[str], list[str]]:
    rules = rules_of(found, PATH)
    return [rule.text for rule in rules.always], [rule.text for rule in rules.never]


# Words


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("体重", "我的体重是 70 公斤"),
        ("关于体重的事", "体重 70 公斤"),
        ("体重、健康", "我最近健康不太好"),
        ("我的工资", "工资：两万"),
        ("公司 代号", "公司新项目的代号是北极星"),
        ("身体健康状况", "他问我身体健康怎么样"),
        ("salaries", "My salary is 100"),
        ("my salary", "我的salary是一万"),
        ("anything about my boss", "my boss is Ann"),
        ("bonus or salary", "the bonus came"),
        ("Ｗｅｉｇｈｔ", "weight: 70"),
        ("药", "每天要吃药"),
    ],
)
def test_what_a_line_matches(rule: str, said: str) -> None:
    assert Rule(rule, PATH).fits(said)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("体重", "我喜欢喝茶"),
        ("公司 代号", "公司在三楼"),
        ("art", "I start tomorrow"),
        ("身体健康状况", "身体不好"),
        ("的", "我喜欢喝茶"),
        ("，。", "我喜欢喝茶，真的。"),
        ("3", "我家在 13 楼"),
    ],
)
def test_what_it_does_not(rule: str, said: str) -> None:
    assert not Rule(rule, PATH).fits(said)


@given(st.text(max_size=30), st.text(max_size=60))
def test_no_words_break_it(rule: str, said: str) -> None:
    Rule(rule, PATH).fits(said)


# Who wins


NEVER = Rules(never=(Rule("体重", PATH),))
ALWAYS = Rules(always=(Rule("课表", PATH),))


@pytest.mark.parametrize("by_owner", [True, False])
@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("whose", ["own", "shared"])
def test_a_rule_gives_way_to_the_explicit_word_of_who_may_write_it(whose: str, explicit: bool, by_owner: bool) -> None:
    own, shared = (NEVER, Rules()) if whose == "own" else (Rules(), NEVER)
    keeping = Keeping(shared, own, by_owner)
    gives_way = explicit and (whose == "own" or by_owner)
    assert (keeping.forbids(Statement("体重：70", "我 70 公斤", explicit)) is None) is gives_way


def test_always_looks_at_the_person_s_sentence_alone() -> None:
    keeping = Keeping(ALWAYS, Rules(), by_owner=False)
    assert keeping.wants(Statement("周三有课", "我的课表：周三有课", explicit=False))
    assert not keeping.wants(Statement("课表：周三有课", "周三我要早起", explicit=False))


# Pages


def test_a_page_by_hand_is_read_as_it_stands() -> None:
    assert texts(page(BY_HAND)) == (["我的课表", "老板说的事", "作业截止时间"], ["体重、健康状况", "salary or bonus"])
    assert texts(page("# x\n- 什么都不算\n")) == ([], [])
    assert texts(page("# Never mind\n- b\n")) == ([], [])
    assert texts(page("# x\n## Always\n- a\n## Never ever\n- b\n")) == (["a"], ["b"])


def test_lines_are_added_where_they_belong_and_taken_away() -> None:
    after = with_rule(page(BY_HAND), "我的成绩", DAY, always=True)
    assert texts(after)[0] == ["我的课表", "老板说的事", "作业截止时间", "我的成绩"]
    after = with_rule(after, "住址", DAY, always=False)
    assert texts(after)[1] == ["体重、健康状况", "salary or bonus", "住址"]
    back = without_rule(without_rule(after, 3, DAY, always=True), 2, DAY, always=False)
    assert back.to_bytes() == BY_HAND.encode()
    with pytest.raises(IndexError):
        without_rule(back, 9, DAY, always=True)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_new_page_says_what_it_is_for(language: str) -> None:
    made = blank("01K", "zh" if language == "zh" else "en", Visibility.PRIVATE, DAY)
    assert texts(made) == ([], [])
    made = with_rule(with_rule(made, "a", DAY, always=False), "b", DAY, always=True)
    assert texts(made) == (["b"], ["a"])
    assert made.beliefs == ()
    always, never = ("总是记住", "从不记住") if language == "zh" else ("Always", "Never")
    assert made.body.partition("\n\n")[2].partition("\n\n")[2] == f"## {always}\n- b\n\n## {never}\n- a"


@pytest.mark.parametrize("nasty", PAGES)
@pytest.mark.parametrize("always", [True, False])
def test_adding_to_any_page_keeps_its_lines_and_entries(nasty: str, always: bool) -> None:
    before = page(nasty)
    try:
        after = with_rule(before, "住址", DAY, always=always)
    except PageUnreadable:
        return
    assert rules_of(after, PATH).of(always=always)[-1].text == "住址"
    kept = iter(after.to_bytes().decode().splitlines())
    assert all(line in kept for line in nasty.splitlines() if not line.lstrip("\"'").startswith("updated"))
    assert [(one.number, one.text, one.current) for one in after.beliefs] == [
        (one.number, one.text, one.current) for one in before.beliefs
    ]


# In a memory


def rule(world: World) -> Ruling:
    return Ruling(world.memory.writer, world.memory.writer._ids)


async def test_rules_are_written_undone_and_counted_at_once(world: World) -> None:
    ruling = rule(world)
    made = await ruling.add("体重", world.by("/memory never 体重"), always=False)
    assert made == Rule("体重", OWN)
    commits = world.commits()
    await ruling.add("体重", world.by("/memory never 体重"), always=False)
    assert world.commits() == commits
    assert [one.text for one in ruling.of(world.by("")).own.never] == ["体重"]
    await world.undoing.last(world.by("/undo"))
    assert ruling.of(world.by("")).own == Rules()
    await ruling.add("体重", world.by(""), always=False)
    await ruling.add("公司的事", world.by(""), always=False, shared=True)
    assert (await ruling.remove(1, world.by(""), always=False)).text == "体重"
    assert world.page(OWN).count("体重") == 0
    with pytest.raises(NotThere):
        await ruling.remove(1, world.by(""), always=False)


@pytest.mark.parametrize("person", ["ming", "qq-9"])
async def test_nobody_but_the_owner_makes_rules_for_all(world: World, person: str) -> None:
    with pytest.raises(NotAllowed):
        await rule(world).add("体重", world.by("", person), always=False, shared=True)
    if person == "qq-9":
        with pytest.raises(NotAllowed):
            await rule(world).add("体重", world.by("", person), always=False)
    assert world.library.rules(SHARED) == Rules()


async def test_a_broken_page_of_rules_is_left_alone_and_said(world: World) -> None:
    world.wiki.edit(OWN, "---\na: : b: c\n---\n## 从不记住\n- 体重\n")
    await world.memory.edited([OWN])
    with pytest.raises(PageUnreadable):
        await rule(world).add("住址", world.by(""), always=False)
    assert world.page(OWN).startswith("---\na: : b")


async def test_a_hand_edit_counts_at_once_without_being_noticed_first(world: World) -> None:
    world.wiki.edit(OWN, "# x\n## 从不记住\n- 体重\n")
    with pytest.raises(NotAllowed, match="体重"):
        await world.say("体重 70 公斤", world.by("我 70 公斤"))
    (event,) = world.events(Kind.BELIEF_WITHHELD)
    assert (event.payload["rule"], event.payload["page"]) == ("体重", OWN)
    world.wiki.edit(OWN, "# x\n## 从不记住\n")
    assert (await world.say("体重 70 公斤", world.by("我 70 公斤"))).outcome == "new"


async def test_explicit_words_win_over_one_s_own_rule_and_not_over_the_owner_s(world: World) -> None:
    await rule(world).add("体重", world.by("", "ming"), always=False)
    assert (await world.say("体重 70 公斤", world.by("记住我体重 70 公斤", "ming"))).outcome == "new"
    await rule(world).add("工资", world.by(""), always=False, shared=True)
    for by in (world.by("记住我工资两万", "ming"), world.by("记住我工资两万", "ming", GROUP)):
        with pytest.raises(NotAllowed, match="工资"):
            await world.say("工资两万", by)
    assert (await world.say("工资两万", world.by("记住我工资两万"))).outcome == "new"


async def test_a_rule_made_since_stops_a_yes_of_others(world: World) -> None:
    by = world.by("工资两万", "ming")
    candidate = Candidate("", by.said_at, predicate="工资", value="两万", source=by.cause, how="inferred")
    world.memory.propose(candidate, Scope.of_person("ming"), by, Words("看出来的", "concluded"))
    await rule(world).add("工资", world.by(""), always=False, shared=True)
    items = world.reviewing.waiting(world.reader("ming"))
    (done,) = await world.reviewing.accept(items, world.by("/review accept 1", "ming"))
    assert done.how == "stays"
    assert world.current("ming") == []


def test_where_rules_stand() -> None:
    assert (page_of(SHARED), page_of(Scope.of_person("owner"))) == (PATH, OWN)
