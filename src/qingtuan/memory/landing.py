"""What came from another copy of the wiki, and what becomes of the pages here by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.reconciling import Apart, Meeting, Reconciled, reconcile
from qingtuan.memory.wiki.arrivals import Arrivals
from qingtuan.memory.wiki.page import parse
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.memory.writing import Writer
from qingtuan.storage.files import content_hash
from qingtuan.storage.git_exchange import Standing


@dataclass(frozen=True, slots=True)
class Arrived:
    """What is there and not here, read."""

    standing: Standing
    arrivals: Arrivals
    base: Mapping[str, bytes]
    """The pages that were changed there as both had them."""
    theirs: Mapping[str, bytes]
    """The same as they are there; without those that are gone."""
    changed_here: frozenset[str]
    """Paths that were changed here since."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What came of a pull."""

    standing: Standing
    taken: bool = False
    """Whether what the remote had was taken over, be it nothing but a line in the history."""
    pages: tuple[str, ...] = ()
    """Those that changed."""
    apart: tuple[Apart, ...] = ()
    """Those that stay as they are here while theirs waits."""
    waiting: str | None = None
    """The proposal that waits for the owner's word, if the remote is not trusted."""
    asked: bool = False
    """Whether it was put up just now."""
    doubtful: int = 0
    """Statements that wait by themselves."""
    renumbered: int = 0
    beside: int = 0
    """Files beside the pages that came along in the history."""

    @property
    def in_step(self) -> bool:
        """Whether all that the remote has is here now."""
        return self.standing.relation in ("empty", "same", "ahead") or self.taken

    @property
    def words(self) -> Words:
        """What there is to say beside the pages that changed."""
        zh, en = [], []
        for one in self.apart:
            zh.append(f"{one.path}：{one.reason.zh}远程的那份等你看（qingtuan review）。")
            en.append(f"{one.path}: {one.reason.en} The remote's waits for you (qingtuan review).")
        if self.doubtful:
            zh.append(f"有 {self.doubtful} 条要你定（qingtuan review）。")
            en.append(f"{self.doubtful} entries are yours to decide (qingtuan review).")
        if self.renumbered:
            zh.append(f"编号撞上的 {self.renumbered} 条换了新编号。")
            en.append(f"{self.renumbered} entries got new numbers: theirs were given away here.")
        if self.beside:
            zh.append(f"另有 {self.beside} 个不是页面的文件，只留在 git 历史里，不放进文件夹。")
            en.append(f"{self.beside} files that are no pages are kept in git's history, not in the folder.")
        return Words("\n".join(zh), "\n".join(en))


class Landing:
    """What becomes of the pages by what arrived, seen from the pages as they are at that moment."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._store = writer.library.store

    def reconciled(self, arrived: Arrived, by: By, *, trusted: bool) -> list[Reconciled]:
        """What becomes of each scope."""
        found: dict[Scope, list[Meeting]] = {}
        for meeting in self._meetings(arrived):
            scope = scope_of(meeting.path)
            if scope is not None:
                found.setdefault(scope, []).append(meeting)
        settled = []
        for scope, meetings in sorted(found.items()):
            # Into a wiki that is empty comes one as it is: what had its numbers here before went away with its pages.
            given = self._writer.ever_given(scope) if arrived.standing.base is not None else {}
            one = reconcile(
                meetings,
                self._writer.standing(scope, by),
                used=partial(_was_another, given),
                changed_here=arrived.changed_here.__contains__,
                trusted=trusted,
            )
            settled.append(replace(one, scope=scope))
        return settled

    def here(self, path: str) -> bytes | None:
        """The bytes of a page as it is now; None where there is none, or something that is none."""
        return self._look(path)[0]

    def content(self, path: str) -> str | None:
        """The hash of a page as it is now."""
        data = self.here(path)
        return None if data is None else content_hash(data)

    def _meetings(self, arrived: Arrived) -> list[Meeting]:
        """Each page that was changed there, with what stands here. A page that was moved there and changed here goes
        where it went there."""
        moved = self._moved(arrived)
        meetings = []
        for path in sorted(arrived.arrivals.pages):
            if path in moved.values():
                continue
            before = moved.get(path)
            ours, unreadable = self._look(before or path)
            base, theirs = arrived.base.get(before or path), arrived.theirs.get(path)
            meetings.append(Meeting(path, base, ours, theirs, unreadable, before))
        return meetings

    def _moved(self, arrived: Arrived) -> dict[str, str]:
        """Pages that were moved there and changed here, each by its new path with the old one."""
        new = {path: data for path, data in arrived.theirs.items() if path not in arrived.base}
        moved: dict[str, str] = {}
        for old, blob in arrived.arrivals.pages.items():
            if blob is not None or old not in arrived.base or self.here(old) in (None, arrived.base[old]):
                continue
            name = _id(arrived.base[old])
            for path, data in new.items():
                same = data == arrived.base[old] or (name is not None and _id(data) == name)
                free = path not in moved and self._look(path) == (None, False)
                if same and free and scope_of(path) == scope_of(old):
                    moved[path] = old
                    break
        return moved

    def _look(self, path: str) -> tuple[bytes | None, bool]:
        """The bytes of a page as it is now, and whether something stands there that is none."""
        try:
            snapshot = self._store.read(path)
        except PageUnreadable:
            return None, True
        return (snapshot.data if snapshot else None), False


def _was_another(given: Mapping[int, set[str]], number: int, text: str) -> bool:
    return number in given and text not in given[number]


def _id(data: bytes) -> str | None:
    try:
        return parse(data).id
    except PageUnreadable:
        return None
