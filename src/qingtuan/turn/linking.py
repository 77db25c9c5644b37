"""Accounts that become one person's: the owner's claim, and linking one's own (identity.md, Identity).

A code and the answer to the question that follows are taken before admission: who sends them may be a stranger. A
message that is neither is nothing here, and whoever guesses is told what any stranger is told.

The event decides. `people.toml` follows it, then the memory; what a crash left undone is done at the next start.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from qingtuan.confirmations import answers
from qingtuan.confirmations.confirmation import Chat
from qingtuan.errors import QingtuanError, SettingsWrong, StorageFailed
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import notice
from qingtuan.identity.accounts import OWNER, Person
from qingtuan.identity.code_book import CodeBook, Given
from qingtuan.identity.people_edits import Taken, linked
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Language, Words
from qingtuan.memory.joining import Joined
from qingtuan.messages import Inbound, Space
from qingtuan.turn.questions import place_in
from qingtuan.turn.telling import told_of, word_to_owner
from qingtuan.turn.unions import Unions
from qingtuan.turn.work import Say, Work


@dataclass(frozen=True, slots=True)
class Proof:
    """A message that proves whose an account is, or declines to."""

    kind: Literal["code", "yes", "no", "again"]
    """The right code; an answer to the question whether both are one; one that an earlier process has begun upon."""
    given: Given | None
    event: Event | None = None
    """What that process had decided."""


class Linking:
    """Recognises codes and answers, and does what follows from them."""

    def __init__(self, work: Work, unions: Unions) -> None:
        self._work = work
        self._kit = work.kit
        self._log = work.kit.record.log
        self.unions = unions
        self.codes = CodeBook(self._log, work.kit.record.clock)

    # Recognising

    def recognise(self, message: Inbound | Received, space: Space) -> Proof | None:
        """What a message proves. One that looks like a code and is wrong is counted; one in a group voids its code."""
        if isinstance(message, Received):
            begun = self._log.caused_by(message.event.id)
            decided = next((event for event in begun if event.kind in _DECIDED), None)
            if decided is not None:
                return Proof("again", None, decided)
        elif message.temporary:
            return None
        elif space.is_group:
            self._read_by_others(message, space)
        unsure = message.edited or message.spoken or message.materials or message.attachments
        if space.is_group or space.id != message.account or unsure:
            return None
        return self._answer(message, space) or self._code(message, space)

    def _code(self, message: Inbound | Received, space: Space) -> Proof | None:
        text = _without_words(message.text)
        given = self.codes.right(message.account, text, space)
        if given is not None and self._still_asks(given):
            return Proof("code", given)
        if isinstance(message, Inbound) and given is None:
            place = Place(None, space, None, self._person(message.account))
            for void in self.codes.wrong(message.account, text, place):
                self._tell(void, _GUESSED)
        return None

    def _still_asks(self, given: Given) -> bool:
        """Whether the account that asked for a code is still the person's who asked for it: a code gives no right that
        whoever asked for it has lost since, or got since."""
        return self._person(given.by) == given.person

    def _still_asked(self, given: Given, account: str) -> bool:
        """Whether the account that was asked is still the person's who was asked."""
        shown = self._log.get(given.shown or "")
        return shown is not None and self._person(account) == shown.place.person

    def _answer(self, message: Inbound | Received, space: Space) -> Proof | None:
        given = self.codes.shown_to(message.account)
        if given is None:
            return None
        verdict = _EXPLICIT.get(_folded(message.text))
        if verdict is None:
            plain = answers.plain(message.text)
            verdict = _PLAIN.get(_folded(message.text)) if plain is None else plain
            if verdict is None or not self._is_asked(given, message, space):
                return None
        return Proof("yes" if verdict else "no", given)

    def _is_asked(self, given: Given, message: Inbound | Received, space: Space) -> bool:
        """Whether the question is what a bare yes or no is said to: it was the last thing said there, or is quoted."""
        caused = self._log.caused_by(given.shown or "")
        question = next((event for event in caused if event.kind is Kind.MESSAGE_SENT), None)
        if question is None:
            return False
        if message.quotes is not None:
            return question.id in (message.quotes, self._kit.book.of_message(space, message.quotes))
        before = message.event.seq if isinstance(message, Received) else None
        # The kinds stand as in the index of talk: else SQLite does not use it.
        last = self._log.database.row(
            "SELECT e.id, o.state FROM events AS e LEFT JOIN outbox AS o ON o.event = e.id WHERE e.space = ?"
            " AND (e.kind = 'message.received' OR e.kind = 'message.sent') AND e.seq < coalesce(?, e.seq + 1)"
            " ORDER BY e.seq DESC LIMIT 1",
            (str(space), before),
        )
        return last is not None and last["id"] == question.id and last["state"] in ("sent", "unknown")

    def _read_by_others(self, message: Inbound, space: Space) -> None:
        place = Place(None, space, None, self._person(message.account))
        for given in self.codes.read_by_others(message.text):
            self.codes.close(given, place, cause=None)
            self._tell(given, _SHOWN_TO_ALL)

    def _person(self, account: str) -> str | None:
        person = self._kit.people.find(account)
        return person.id if person else None

    # Doing

    async def take(self, proof: Proof, received: Received, place: Place, reader: Reader) -> None:
        """Do what a proof says, and tell whom it concerns."""
        language = self._kit.speaks_to(reader)
        try:
            await self._take(proof, received, place, reader)
        except QingtuanError as error:
            self._broke(str(error), told_of(error, reader, _BROKE).say(language), received, place)
        except Exception as error:  # noqa: BLE001 (the edge of a turn: the message must get its end)
            self._broke(repr(error), _BROKE.say(language), received, place)

    async def _take(self, proof: Proof, received: Received, place: Place, reader: Reader) -> None:
        given = proof.given
        if proof.event is not None:
            await self._carry_on(proof.event, received, place)
        elif given is None:
            return
        elif proof.kind == "no":
            self._decline(given, received, place, reader)
        elif proof.kind == "yes":
            await self._unite(given, received, place)
        elif given.use == "claim":
            await self._claim(given, received, place, reader)
        else:
            self._ask(given, received, place, reader)

    async def _claim(self, given: Given, received: Received, place: Place, reader: Reader) -> None:
        if reader.person == OWNER:
            with self._work.saying() as say, self._log.transaction(durable=True):
                self.codes.accept(given, place, cause=received.event.id)
                self._log.append(Kind.COMMAND_RUN, place, {"command": "claim"}, cause=received.event.id)
                text = _OWNER_ALREADY.say(self._kit.speaks_to(reader)).format(account=received.account)
                say(notice(received.channel, text), place, received.event.id)
            return
        await self._decide(Kind.PERSON_CLAIMED, OWNER, given, received, place)

    def _ask(self, given: Given, received: Received, place: Place, reader: Reader) -> None:
        """Show the account that sent the right code with whom it would become one."""
        people, language = self._kit.people, self._kit.speaks_to(reader)
        began = people.person(given.person)
        if began is None or began.id == reader.person or reader.person == OWNER:
            words = _BY_OWNER if reader.person == OWNER and began and began.id != OWNER else _ONE_ALREADY
            with self._work.saying() as say, self._log.transaction(durable=True):
                self.codes.close(given, place, cause=received.event.id)
                self._log.append(Kind.COMMAND_RUN, place, {"command": "link"}, cause=received.event.id)
                text = words.say(language).format(account=given.by)
                say(notice(received.channel, text), place, received.event.id)
            return
        words = _QUESTION_OWNER if began.id == OWNER else _QUESTION
        with self._work.saying() as say, self._log.transaction(durable=True):
            shown = self.codes.accept(given, place, cause=received.event.id)
            self._log.append(Kind.COMMAND_RUN, place, {"command": "link"}, cause=received.event.id)
            text = words.say(language).format(account=given.by, own=received.account)
            say(notice(received.channel, text), place, shown.id)

    def _decline(self, given: Given, received: Received, place: Place, reader: Reader) -> None:
        with self._work.saying() as say, self._log.transaction(durable=True):
            self.codes.close(given, place, cause=received.event.id)
            self._log.append(Kind.COMMAND_RUN, place, {"command": "link"}, cause=received.event.id)
            say(notice(received.channel, _DECLINED.say(self._kit.speaks_to(reader))), place, received.event.id)
            self._word(say, given, _DECLINED_THERE, account=received.account)

    async def _unite(self, given: Given, received: Received, place: Place) -> None:
        kept = given.person
        if not (self._still_asks(given) and self._still_asked(given, received.account)):
            self.codes.close(given, place, cause=received.event.id)
            self._say(_NOT_ANY_MORE.say(self._kit.texts.language), received, place, "link")
            return
        await self._decide(Kind.PERSON_LINKED, kept, given, received, place)

    async def _decide(self, kind: Kind, kept_id: str, given: Given, received: Received, place: Place) -> None:
        """Write down that two are one, and let the file and the memory follow."""
        people = self._kit.people
        kept, gone = people.person(kept_id) or Person(kept_id, ()), people.find(received.account)
        if gone is None:
            return
        accounts, takes = people.in_file(gone).accounts, list[Taken]()

        def change(text: str) -> str:
            after, taken = linked(text, people.in_file(kept), gone, accounts)
            takes.append(taken)
            return after

        people.would_say(change)
        payload: Mapping[str, Any] = {
            "kept": kept.id,
            "gone": gone.id,
            "by": given.by,
            "with": received.account,
            "code": given.event.id,
            **takes[0].payload(),
        }
        where = Place(place.session, place.space, None, kept.id)
        with self._log.transaction(durable=True):
            event = self._log.append(kind, where, payload, cause=received.event.id)
        await self._carry_on(event, received, place)

    async def _carry_on(self, event: Event, received: Received, place: Place) -> None:
        """What follows from the decision: the file, the memory, and a word to both sides."""
        kit, kept = self._kit, str(event.payload["kept"])
        if self.unions.links.is_parted(event.id):
            self._say(_NOT_ANY_MORE.say(self._language(place.person or "")), received, place, "link")
            return
        try:
            joined = await self.unions.follow(event)
        except (SettingsWrong, StorageFailed) as error:
            self._not_yet(error, received, place)
            return
        place = Place(place.session, place.space, None, kept)
        language = self._language(kept)
        claimed = event.kind is Kind.PERSON_CLAIMED
        facts = {"with": event.payload["with"], "by": event.payload["by"], "person": kept}
        words = _CLAIMED if claimed else _LINKED
        text = words.say(language).format(**facts) + _memory(joined, language)
        given = self.codes.get(str(event.payload.get("code")))
        # In one piece: with the answer the message is done, and no start would tell the others.
        with self._work.saying() as say, self._log.transaction(durable=True):
            self._log.append(
                Kind.COMMAND_RUN, place, {"command": "claim" if claimed else "link"}, cause=received.event.id
            )
            say(notice(received.channel, text), place, received.event.id)
            if given is not None and given.event.place.space != place.space and kit.people.person(kept) is not None:
                there = _CLAIMED if claimed else _LINKED_THERE
                self._word(say, given, there, more=_memory(joined, language), **facts)
            if kept != OWNER:
                self._word_to_owner(say, event, kept)

    def _not_yet(self, error: QingtuanError, received: Received, place: Place) -> None:
        """It is decided, and the file cannot say so yet. The message stays open: the next start takes it up, and tells
        all whom it concerns."""
        text = _NOT_YET.say(self._language(place.person or ""))
        with self._work.saying() as say, self._log.transaction():
            self._log.append(Kind.TURN_FAILED, place, {"detail": str(error)}, cause=received.event.id)
            say(notice(received.channel, text), place, received.event.id)

    # Saying

    def _broke(self, detail: str, text: str, received: Received, place: Place) -> None:
        self._log.append(Kind.TURN_FAILED, place, {"detail": detail}, cause=received.event.id)
        self._say(text, received, place, "link")

    def _say(self, text: str, received: Received, place: Place, command: str) -> None:
        with self._work.saying() as say, self._log.transaction():
            self._log.append(Kind.COMMAND_RUN, place, {"command": command}, cause=received.event.id)
            say(notice(received.channel, text), place, received.event.id)

    def _tell(self, given: Given, words: Words) -> None:
        with self._work.saying() as say:
            self._word(say, given, words)

    def _word(self, say: Say, given: Given, words: Words, *, more: str = "", **facts: object) -> None:
        """A word to whoever asked for a code, where they asked for it."""
        asked = given.event.place
        if asked.space is None:
            return
        person = self._kit.people.whose(given.person)
        text = words.say(self._language(person)).format(**facts) + more
        chat = Chat(str(given.event.payload["channel"]), asked.space)
        say(notice(chat.channel, text), place_in(self._kit, chat, person), given.event.id)

    def _word_to_owner(self, say: Say, event: Event, kept: str) -> None:
        """Who is listed brought somebody in who was not: the owner, who made the list, hears of it."""
        kit = self._kit
        person = kit.people.person(kept)
        if person is None or kit.people.role(person) is not Role.MEMBER:
            return
        told = word_to_owner(kit, _MEMBER_LINKED.filled(**event.payload))
        say(told.draft, told.place, event.id)

    def _language(self, person_id: str) -> Language:
        person = self._kit.people.person(person_id)
        return (person.language if person else None) or self._kit.texts.language


_DECIDED = (Kind.PERSON_CLAIMED, Kind.PERSON_LINKED)
_WORDS_BEFORE = re.compile(
    r"\s*[/／]?(?:确认绑定|确认关联|绑定码|关联码|绑定|关联|认领|link|claim)(?![a-z])\s*[:：]?\s*", re.IGNORECASE
)
"""What people write before a code; the first are those of seed 000."""
_EXPLICIT = {
    **dict.fromkeys(("确认关联", "确认绑定", "confirm link", "link confirm"), True),
    **dict.fromkeys(("不关联", "不绑定", "取消关联", "取消绑定", "cancel link"), False),
}
_PLAIN = {**dict.fromkeys(("是", "是的", "对", "y"), True), **dict.fromkeys(("不是", "否", "n"), False)}


def _without_words(text: str) -> str:
    return _WORDS_BEFORE.sub("", text, count=1) if len(text) <= 64 and _WORDS_BEFORE.match(text) else text


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:40]).casefold().strip(" \t\r\n。.!！,，").removeprefix("/")


def _memory(joined: Joined | None, language: Language) -> str:
    """What became of the memory."""
    if joined is None:
        return f"\n{_LATER.say(language)}"
    lines = []
    if joined.entries:
        lines.append(_CAME.say(language).format(count=joined.entries))
        if joined.known:
            lines.append(_KNOWN.say(language).format(count=joined.known))
        if joined.settled:
            lines.append(_SETTLED.say(language).format(count=joined.settled))
    if joined.left:
        lines.append(_LEFT.say(language).format(paths=" ".join(joined.left)))
    return "".join(f"\n{line}" for line in lines)


_QUESTION = Words(
    "{account} 说这是它的另一个账号。确认的话，{account} 和 {own} 就是同一个人：两边的记忆合成一份，"
    "在哪边都看得到，也能撤销。不是你自己的账号就别确认。\n回「确认」或「不」，10 分钟内有效。",
    "{account} says that this is its other account. If you confirm, {account} and {own} are one person: their "
    "memories become one, seen from both, and that can be taken back. Do not confirm unless it is your own.\n"
    "Reply “confirm” or “no”, within 10 minutes.",
)
_QUESTION_OWNER = Words(
    "主人（{account}）说这是自己的另一个账号。确认的话，{own} 就和主人一样：记忆合成一份，什么都能让我做，也能撤销。"
    "你不是主人就别确认。\n回「确认」或「不」，10 分钟内有效。",
    "The owner ({account}) says that this is another account of theirs. If you confirm, {own} is the owner too: one "
    "memory, every right, and that can be taken back. Do not confirm unless you are the owner.\n"
    "Reply “confirm” or “no”, within 10 minutes.",
)
_BY_OWNER = Words(
    "这个码是 {account} 要和你关联。你是主人：要关联的话由你这边发起，发 /link {account}。那是别人的号就别理。",
    "This code would link you with {account}. You are the owner: if it is yours, begin here with /link {account}. "
    "If it is somebody else's, leave it.",
)
_ONE_ALREADY = Words("{account} 和你已经是同一个人了。", "{account} and you are one person already.")
_OWNER_ALREADY = Words("{account} 本来就是主人的账号。", "{account} is the owner's already.")
_DECLINED = Words("好，没有关联。", "All right, nothing is linked.")
_DECLINED_THERE = Words("{account} 那边没有确认，没有关联。", "{account} did not confirm; nothing is linked.")
_NOT_ANY_MORE = Words("这个现在关联不了了，重新来一次。", "This can no longer be linked; please begin anew.")
_CLAIMED = Words("认得了：{with} 是主人的账号。", "Known: {with} is the owner's account.")
_LINKED = Words(
    "关联好了：{by} 和 {with} 是同一个人了。要分开：/unlink",
    "Linked: {by} and {with} are one person now. To part them: /unlink",
)
_LINKED_THERE = Words(
    "{with} 确认了，和 {by} 是同一个人了。要分开：/unlink",
    "{with} has confirmed: it and {by} are one person now. To part them: /unlink",
)
_MEMBER_LINKED = Words(
    "成员 {kept} 关联了账号：{by} 和 {with} 现在是同一个人，都按成员算。",
    "Member {kept} has linked accounts: {by} and {with} are one person now, and both a member.",
)
_CAME = Words("记忆合在一起了：那边的 {count} 条都过来了。", "The memories are one: {count} entries came over.")
_KNOWN = Words("{count} 条两边都有，留一份。", "{count} of them both had; one is kept.")
_SETTLED = Words(
    "{count} 处说法不一样，按后说的，早先的在历史里。",
    "{count} contradicted each other: what was said later holds, the earlier is in the history.",
)
_LEFT = Words("读不了的留在原处：{paths}", "What cannot be read stays where it is: {paths}")
_LATER = Words(
    "记忆这会儿合不了，下次启动时再合。", "The memories could not be joined now; that is done at the next start."
)
_GUESSED = Words(
    "你的码被猜错了 5 次，作废了。还要就重新要一个。",
    "Your code was guessed wrong 5 times and is void. Ask for a new one.",
)
_SHOWN_TO_ALL = Words(
    "你的码被发到群里了，作废了。还要就重新要一个。", "Your code was shown in a group and is void. Ask for a new one."
)
_NOT_YET = Words(
    "定下了，可这会儿写不下来，主人那边要先修一下；修好后下次启动就生效，到时告诉你。",
    "That is decided, but cannot be written down now; the owner has to mend something first. It counts from the next "
    "start on, and you will hear.",
)
_BROKE = Words("现在办不了，主人那边要先修一下。", "This cannot be done now; the owner has to mend something first.")
