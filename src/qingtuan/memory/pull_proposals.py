"""What a pull puts up for the owner's word: all of it, if the remote is not trusted, or single pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.differing import counted, differences
from qingtuan.memory.reconciling import Apart
from qingtuan.storage.git_exchange import Standing

PULL = "pull"
"""What such a proposal is called: `what` of `belief.proposed`, which has beside it

    commit  the newest commit of what came
    remote  where it came from, of a whole pull
    page    the path of a single page, whose bytes are the part of the log `part`
"""

Pages = Mapping[str, bytes | None]


class PullProposals:
    """Those of one wiki."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def open(self) -> list[Event]:
        """Those that nobody has decided about, oldest first."""
        return [event for event in self._all() if self.is_open(event)]

    def of(self, commit: str) -> Event | None:
        """The proposal of a whole pull up to a commit, whatever became of it."""
        return next((e for e in self._all() if e.payload["commit"] == commit and "page" not in e.payload), None)

    def is_open(self, event: Event) -> bool:
        """Whether somebody has still to decide about it."""
        row = self._log.database.row("SELECT 1 FROM candidates WHERE event = ? AND state = 'open'", (event.id,))
        return row is not None

    def put_up(self, standing: Standing, remote: str, before: Pages, after: Pages, by: By) -> Event:
        """Put up all that came. What came from the same remote before is a part of it, and waits no longer."""
        new, changed, gone = counted(before, after.items())
        head = _HEAD.say(by.language).format(
            remote=remote,
            commits=standing.theirs_only,
            commit=str(standing.theirs)[:8],
            new=new,
            changed=changed,
            gone=gone,
        )
        text = f"{head}\n{differences(before, after, by.language)}".strip()
        with self._log.transaction():
            for event in self.open():
                if event.payload.get("remote") == remote and "page" not in event.payload:
                    payload = {"item": event.id, "verdict": "outdated"}
                    self._log.append(Kind.BELIEF_REVIEWED, by.place, payload, cause=by.cause)
            more = {"commit": standing.theirs, "remote": remote, "pages": sorted(after)}
            return self._append(text, _FROM_REMOTE, more, by)

    def put_apart(self, apart: Sequence[Apart], here: Pages, commit: str, by: By) -> None:
        """Put up pages that stay as they are here, each as a whole."""
        with self._log.transaction():
            for one in apart:
                (part,) = self._log.keep_parts([one.theirs])
                told = differences({one.path: here[one.path]}, {one.path: one.theirs}, by.language)
                text = f"{_THEIR_PAGE.say(by.language).format(path=one.path)}\n{told}".strip()
                self._append(text, one.reason, {"commit": commit, "page": one.path, "part": part}, by)

    def _append(self, text: str, reason: Words, more: Mapping[str, Any], by: By) -> Event:
        payload = {
            "what": PULL,
            "scope": str(Scope.of_person(OWNER)),
            "text": text,
            "reason": {"zh": reason.zh, "en": reason.en},
        }
        return self._log.append(Kind.BELIEF_PROPOSED, by.place, {**payload, **more}, cause=by.cause)

    def _all(self) -> Iterable[Event]:
        return self._log.where("kind = ? AND json_extract(payload, '$.what') = ?", [Kind.BELIEF_PROPOSED, PULL])


_HEAD = Words(
    "{remote} 的 {commits} 个提交（{commit}）：新 {new} 页，改 {changed} 页，删 {gone} 页",
    "{commits} commits of {remote} ({commit}): {new} pages new, {changed} changed, {gone} gone",
)
_FROM_REMOTE = Words(
    "从没有设为信任的远程拿来的，接受之前不算数。",
    "It comes from a remote that is not trusted, and counts once it is accepted.",
)
_THEIR_PAGE = Words("远程的「{path}」，整页换成它", "the remote's “{path}”, to take the place of the whole page")
