"""Whatever two instances and their people do, in whatever order they push and pull: nothing that was said is lost."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.errors import RemoteRefused
from tests.fakes.remote_world import RemoteWorld
from tests.memory.syncing_world import Instance

PROFILE = "users/owner/profile.md"
NOTE = "users/owner/notes/随笔.md"
TOPICS = ("图书馆", "教室")

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "add", "say", "answer", "edit", "retire", "line", "note", "reword", "drop", "move", "undo",
                "push", "push", "pull", "pull",
            ]
        ),
        st.integers(0, 1),
        st.integers(0, 5),
    ),
    min_size=4,
    max_size=16,
)  # fmt: skip


class Story:
    """What two people do, and what must be left of it."""

    def __init__(self, root: Path, instances: list[Instance]) -> None:
        self.root = root
        self.instances = instances
        self.kept: set[str] = set()
        """What was said and not taken out of the pages by anybody."""
        self.refusals: list[str] = []
        self.count = 0

    def said(self) -> str:
        self.count += 1
        text = f"说{self.count:03}的话"
        self.kept.add(text)
        return text

    async def step(self, kind: str, who: int, pick: int) -> None:
        one = self.instances[who]
        for other in self.instances:  # one time for both, so that what is said later is later
            other.clock.advance(max(i.clock.now() for i in self.instances) - other.clock.now())
        match kind:
            case "push" | "pull":
                try:
                    await (one.push() if kind == "push" else one.pull())
                except RemoteRefused as refused:
                    self.refusals.append(refused.words.en)
            case "undo":
                before = _text(one)
                try:
                    await one.undoing.last(one.by("/undo"))
                except Exception:  # noqa: BLE001 (nothing to take back, or not any more)
                    return
                self.kept -= {said for said in self.kept if said in before and said not in _text(one)}
            case "add":
                await one.add(self.said())
            case "say":
                await one.say(self.said(), kind="preference", topic=TOPICS[pick % 2])
            case "answer":
                text = self.said()
                await one.say(text, kind="preference", topic=TOPICS[0], predicate="座位", value=text)
            case "edit" | "retire":
                await self._of_an_entry(kind, one, pick)
            case _:
                self._by_hand(kind, one, pick)
        await one.memory.edited(["users"])

    async def _of_an_entry(self, kind: str, one: Instance, pick: int) -> None:
        entries = [line.partition(" ") for line in one.current() if line.startswith("#") and line[1] != " "]
        if not entries:
            return
        name, _, text = entries[pick % len(entries)]
        if kind == "retire":
            await one.editing.retire(name, one.by(""))
        else:
            await one.editing.edit(name, self.said(), one.by(""))
            self.kept -= {said for said in self.kept if said in text}

    def _by_hand(self, kind: str, one: Instance, pick: int) -> None:
        page = one.wiki.folder / (NOTE if kind in ("note", "reword") else PROFILE)
        if kind == "move":
            topic = one.wiki.folder / f"users/owner/preferences/{TOPICS[pick % 2]}.md"
            target = one.wiki.folder / f"users/owner/records/{TOPICS[pick % 2]}.md"
            target.parent.mkdir(exist_ok=True)
            if topic.exists() and not target.exists():
                topic.rename(target)
            return
        if not page.exists():
            if kind == "note":
                page.parent.mkdir(parents=True, exist_ok=True)
                page.write_text(f"# 随笔\n\n{self.said()}\n")
            return
        lines = page.read_text().splitlines()
        bullets = [at for at, line in enumerate(lines) if line.startswith("- ")]
        if kind == "drop" and bullets:
            gone = lines.pop(bullets[pick % len(bullets)])
            self.kept -= {said for said in self.kept if said in gone}
        elif kind == "line" and bullets:
            lines.insert(bullets[pick % len(bullets)] + 1, f"- {self.said()}")
        elif kind == "note":
            lines.append(self.said())
        elif kind == "reword":
            at = min(2 + pick, len(lines) - 1)
            self.kept -= {said for said in self.kept if said in lines[at]}
            lines[at] = self.said()
        page.write_text("\n".join(lines) + "\n")

    async def end(self) -> None:
        """Push and pull until both have it all."""
        assert all("pull first" in refusal for refusal in self.refusals)
        one, two = self.instances
        for _ in range(2):
            await one.pull()
            await one.push()
            await two.pull()
            await two.push()
        await one.pull()
        assert one.wiki.git("rev-parse", "HEAD") == two.wiki.git("rev-parse", "HEAD")
        assert sorted(one.current()) == sorted(two.current())
        waiting = b"".join(
            instance.log.part(event.payload["part"])
            for instance in self.instances
            for event in instance.syncing.proposals.open()
        ).decode()
        assert {said for said in self.kept if said not in _text(one) + waiting} == set()
        numbers = [line.partition(" ")[0] for line in one.current()]
        assert len(numbers) == len(set(numbers)) or "#" in numbers
        for instance in self.instances:
            assert instance.in_order()


def _text(instance: Instance) -> str:
    return "".join(path.read_text() for path in sorted(instance.wiki.folder.rglob("*.md")))


async def told(root: Path, steps: list[tuple[str, int, int]]) -> None:
    bare = RemoteWorld(root / "there").bare
    instances = []
    for name in ("one", "two"):
        (root / name).mkdir()
        instances.append(await Instance.at(root / name, bare))
    try:
        story = Story(root, instances)
        await instances[0].add("开头")
        await instances[0].push()
        await instances[1].pull()
        for kind, who, pick in steps:
            await story.step(kind, who, pick)
        await story.end()
    finally:
        for instance in instances:
            instance.close()


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_no_line_is_ever_lost(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(told(Path(name), steps))
