"""What one scope holds, kept up page by page as if everything had been read again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.holdings import Holdings
from qingtuan.memory.likeness import SELF
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wording import Wording
from tests.memory.scene import entries

PATHS = st.sampled_from(["a.md", "b.md", "c.md"])
NUMBERS = st.integers(1, 4)
LABELS = st.sampled_from(["private", "own", "public"])


@st.composite
def page(draw: st.DrawFn) -> Page:
    """A page with bullets and data that may belong to others."""
    bullets = draw(st.lists(st.tuples(st.sampled_from("甲乙丙"), st.none() | NUMBERS, st.booleans()), max_size=4))
    lines = {
        current: [f"- {text}" + (f" ^{n}" if n else "") for text, n, now in bullets if now is current]
        for current in (True, False)
    }
    data = draw(st.dictionaries(NUMBERS, LABELS, max_size=3))
    comment = [f"{number}: {{v: {label}, p: 味, from: evt_{number}, vis: {label}}}" for number, label in data.items()]
    text = [
        f"---\nvisibility: {draw(LABELS)}\n---\n## 当前", *lines[True], "## 历史", *lines[False],
        *(["<!-- qingtuan", *comment, "-->"] if comment else []),
    ]  # fmt: skip
    return parse("\n".join(text).encode())


STEPS = st.lists(st.dictionaries(PATHS, st.none() | page(), min_size=1, max_size=2), min_size=1, max_size=6)


@given(STEPS)
def test_kept_up_it_is_what_reading_everything_again_gives(steps: list[dict[str, Page | None]]) -> None:
    kept, pages = Holdings(), dict[str, Page]()
    kept.about(Wording("甲", SELF, "味", None, {}), None)
    for step in steps:
        before = {path: kept.on(path) for path in kept.pages}
        touched = kept.put(step)
        for path, now in step.items():
            pages.pop(path, None)
            pages |= {path: now} if now else {}
        assert kept.entries == Holdings(pages).entries
        assert all(kept.on(path) == before.get(path, ()) for path in pages if path not in touched)
        assert kept.next_number(2) == max([2, *(n for one in pages.values() for n in one.numbers)]) + 1
        for number in range(1, 5):
            assert kept.find(number) == next((e for e in entries(pages) if e.number == number), None)


@given(STEPS, st.sampled_from("甲乙丙"), st.none() | st.just("味"), st.none() | NUMBERS)
def test_what_may_say_the_same_is_found_without_looking_at_everything(
    steps: list[dict[str, Page | None]], text: str, predicate: str | None, source: int | None
) -> None:
    kept, event = Holdings(), f"evt_{source}" if source else None
    wording = Wording(text, SELF, predicate, "own" if predicate else None, {"口味": "味"})
    for step in steps:
        kept.about(wording, event)
        kept.put(step)
    found = kept.about(wording, event)
    for entry in kept.entries:
        same = event is not None and entry.data.source == event
        if wording.same_question(entry.data) or wording.said_by(entry.belief, same_message=same, many=False):
            assert entry in found


def test_a_predicate_is_found_under_every_name() -> None:
    aliases = {"座位偏好": "座位偏好", "喜欢坐哪": "座位偏好"}
    scope = Holdings(
        {"a.md": parse("## 当前\n- 二楼 ^1\n<!-- qingtuan\n1: {s: 我, p: 喜欢坐哪, v: 二楼}\n-->\n".encode())}
    )
    assert len(scope.about(Wording("三楼", SELF, "座位偏好", "三楼", aliases), None)) == 1
    assert scope.about(Wording("三楼", SELF, "座位偏好", "三楼", {}), None) == ()
