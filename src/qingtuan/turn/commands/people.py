"""Commands about who one is: whose accounts these are, and what one may do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from qingtuan.errors import NotAllowed, NotThere, UsageWrong
from qingtuan.events.log import Place
from qingtuan.identity.accounts import OWNER, Person, derived_person, is_account, may_claim
from qingtuan.identity.privacy import Prints, answer_in_private
from qingtuan.identity.scopes import Role
from qingtuan.language import Language, Words
from qingtuan.turn.admission import Standing
from qingtuan.turn.commands.by_hand import by_hand
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.commands.running import in_private
from qingtuan.turn.kit import Kit
from qingtuan.turn.linking import Linking
from qingtuan.turn.unions import Apart, Unions


def whoami_command(kit: Kit, standing: Callable[[Person, Role], Standing | None]) -> Command:
    """`/whoami`. `standing`: how much of their limits somebody has used; None without limits."""
    return Command(
        ("我是谁", "whoami"),
        Words("它认得你是谁，你能做什么", "whom it takes you for, and what you may do"),
        _Who(kit, standing).whoami,
    )


def link_commands(kit: Kit, linking: Linking) -> list[Command]:
    """The commands by which accounts become one person's, and are parted."""
    hand = _Hand(kit, linking)
    return [
        Command(
            ("关联", "link", "绑定"),
            Words("把你的另一个账号也算作你", "let another account of yours be you, too"),
            hand.link,
            prints=Prints.PERSON,
            usage="[ACCOUNT]",
        ),
        Command(
            ("解除关联", "unlink", "解绑"),
            Words("让一个账号不再算作你", "let an account be somebody else's again"),
            hand.unlink,
            prints=Prints.PERSON,
            usage="[ACCOUNT]",
        ),
        Command(
            ("认领", "claim"),
            Words("要一个码，把另一个账号也认作主人", "a code by which another account becomes the owner's"),
            hand.claim,
            owner_only=True,
            prints=Prints.PERSON,
        ),
    ]


def older_spelling(text: str) -> str | None:
    """The command that words of seed 000 stand for (`绑定QQ 12345`); None for other words."""
    found = _SPELLED.fullmatch(unicodedata.normalize("NFKC", text[:200]).strip())
    account = account_in(found[1]) if found else None
    return f"/link {account}" if account else None


def account_in(text: str) -> str | None:
    """The account that somebody names: `tg:42`, `QQ 12345`, `微信 o9…`; None for anything else."""
    found = _NAMED.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if found is None:
        return None
    account = f"{_PLATFORMS[found[1].casefold()]}:{found[2]}"
    return account if is_account(account) else None


_PLATFORMS = {
    "qq": "qq",
    "微信": "wx",
    "wechat": "wx",
    "wx": "wx",
    "telegram": "tg",
    "电报": "tg",
    "tg": "tg",
    "cli": "cli",
}
_PLATFORM = "|".join(_PLATFORMS)
_NAMED = re.compile(rf"({_PLATFORM})\s*[:：]?\s*(\S+)", re.IGNORECASE)
_SPELLED = re.compile(r"(?:绑定|关联)\s*((?:qq|微信|wechat|telegram|电报)\s*[:：]?\s*\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Who:
    kit: Kit
    standing: Callable[[Person, Role], Standing | None]

    async def whoami(self, invocation: Invocation) -> CommandReply:
        reader, language = invocation.reader, invocation.language
        role = _ROLES[reader.role].say(language)
        if not reader.is_alone:
            return CommandReply(_WHO_HERE.say(language).format(role=role))
        person = _person(self.kit, invocation)
        lines = [_WHO.say(language).format(account=invocation.account, role=role, person=person.id)]
        if len(person.accounts) > 1:
            lines.append(_ACCOUNTS.say(language).format(accounts=" ".join(person.accounts)))
        lines += self._may(person, reader.role, language)
        return CommandReply("\n".join(lines))

    def _may(self, person: Person, role: Role, language: Language) -> list[str]:
        lines = [_MAY[role].say(language)]
        if person.writes_groups and role is Role.MEMBER:
            lines.append(_WRITES.say(language).format(groups=" ".join(sorted(person.writes_groups))))
        used = self.standing(person, role)
        if used is not None:
            if used.trial_left is not None:
                lines.append(_TRIAL.say(language).format(left=used.trial_left))
            if used.chars is not None:
                lines.append(_CHARS.say(language).format(chars=used.chars))
            lines.append(_USED.say(language).format(used=used))
        return lines


@dataclass(frozen=True, slots=True)
class _Hand:
    kit: Kit
    linking: Linking

    @property
    def unions(self) -> Unions:
        return self.linking.unions

    async def link(self, invocation: Invocation) -> CommandReply:
        by_hand(invocation)
        person, language = _person(self.kit, invocation), invocation.language
        if not invocation.argument:
            lines = [_ACCOUNTS.say(language).format(accounts=" ".join(person.accounts)), _HOW_TO_LINK.say(language)]
            return CommandReply("\n".join(lines))
        account = account_in(invocation.argument)
        if account is None or not may_claim(account):
            raise UsageWrong(_NO_ACCOUNT)
        if account in person.accounts:
            raise UsageWrong(Words(f"{account} 已经是你的账号了。", f"{account} is yours already."))
        code = self.linking.codes.give(
            "link", invocation.account, account, invocation.channel, _place(invocation), cause=invocation.message.id
        )
        return CommandReply(_LINK_CODE.say(language).format(code=code, account=account))

    async def claim(self, invocation: Invocation) -> CommandReply:
        by_hand(invocation)
        code = self.linking.codes.give(
            "claim", invocation.account, None, invocation.channel, _place(invocation), cause=invocation.message.id
        )
        return CommandReply(_CLAIM_CODE.say(invocation.language).format(code=code))

    async def unlink(self, invocation: Invocation) -> CommandReply:
        by_hand(invocation)
        person, language = _person(self.kit, invocation), invocation.language
        account = self._which(invocation.argument, person)
        if account is None:
            return CommandReply(_WHICH.say(language).format(accounts=" ".join(self._free(person))))
        apart = await self.unions.part(account, person, _place(invocation), cause=invocation.message.id)
        return CommandReply(say_parted(apart, language))

    def _which(self, argument: str, person: Person) -> str | None:
        """The account that is meant; None if it must be said."""
        free = self._free(person)
        if argument:
            account = account_in(argument)
            if account is None:
                raise UsageWrong(_NO_ACCOUNT)
            if account not in free:
                raise NotThere(_FIXED if account in person.accounts else _NOT_YOURS)
            return account
        if not free:
            raise NotThere(_NOTHING_LINKED)
        # What came by one link goes together: then there is nothing to choose.
        one_link = any(set(free) <= set(link.accounts) for link in self.unions.links.of(person.id))
        return free[0] if one_link or len(free) == 1 else None

    def _free(self, person: Person) -> list[str]:
        """The accounts that can be parted: those that the file names, but for the one that the person has their id
        from, and for the last one of anybody but the owner, who still has the terminal."""
        named = self.kit.people.in_file(person).accounts
        free = [one for one in named if derived_person(one).id != person.id]
        return free if person.id == OWNER or len(named) > 1 else []


def _person(kit: Kit, invocation: Invocation) -> Person:
    person = kit.people.person(invocation.reader.person)
    if person is None:
        raise NotThere(_NOBODY)
    return person


async def undo_link(unions: Unions, cause: str, invocation: Invocation) -> str | None:
    """Take a link back whose memory was what somebody wrote last; None if that was written for another reason."""
    link = next((one for one in unions.links.of(invocation.reader.person) if one.event.id == cause), None)
    if link is None:
        return None
    by_hand(invocation)
    if answer_in_private(Prints.PERSON, invocation.reader):
        raise NotAllowed(in_private(invocation.reader))
    apart = await unions.take_back(link, _place(invocation), cause=invocation.message.id)
    return say_parted(apart, invocation.language)


def say_parted(apart: Apart, language: Language) -> str:
    """What is said of accounts that were parted."""
    lines = [_PARTED.say(language).format(accounts=" ".join(apart.accounts), person=apart.gone)]
    if not apart.memory:
        lines.append(_MEMORY_STAYS.say(language))
    elif apart.stayed:
        lines.append(_STAYED.say(language).format(pages=" ".join(apart.stayed)))
    else:
        lines.append(_AS_BEFORE.say(language))
    return "\n".join(lines)


def _place(invocation: Invocation) -> Place:
    return Place(invocation.session.id, invocation.session.space, None, invocation.reader.person)


_ROLES = {
    Role.OWNER: Words("主人", "the owner"),
    Role.MEMBER: Words("成员", "a member"),
    Role.GUEST: Words("访客", "a guest"),
}
_MAY = {
    Role.OWNER: Words("什么都能让我做，没有限额。", "You may have me do anything, without limits."),
    Role.MEMBER: Words(
        "可以私聊我，让我记你自己的事；会动到外面的事，主人允许的才做，别的先问主人。",
        "You may talk to me in private and have me remember what is yours; what acts outside is done as far as the "
        "owner allows it, and else asked about.",
    ),
    Role.GUEST: Words(
        "可以聊天；我不替访客记事，也不办会动到外面的事。", "You may talk; for guests I remember and do nothing."
    ),
}
_WHO = Words("账号 {account}，你是{role}（{person}）。", "Account {account}: you are {role} ({person}).")
_WHO_HERE = Words("你是{role}。账号和能做什么，私聊我再说。", "You are {role}. Ask me in private for the rest.")
_ACCOUNTS = Words("你的账号：{accounts}", "Your accounts: {accounts}")
_WRITES = Words("在这些群里可以让我记群的事：{groups}", "You may have me remember things of these groups: {groups}")
_TRIAL = Words("试聊还剩 {left} 条。", "Messages left of the trial: {left}.")
_CHARS = Words("私聊一条最多 {chars} 个字。", "At most {chars} characters a message in private.")
_USED = Words(
    "今天用了 {used.turns}/{used.turns_a_day} 轮，{used.tokens}/{used.tokens_a_day} 词元。",
    "Used today: {used.turns} of {used.turns_a_day} turns, {used.tokens} of {used.tokens_a_day} tokens.",
)
_NOBODY = Words("认不出你是谁了。", "It cannot be told any more who you are.")
_HOW_TO_LINK = Words(
    "要把另一个账号也算作你：/link 账号，例如 /link tg:42、/link QQ 12345。",
    "To let another account be you, too: /link ACCOUNT, as in /link tg:42 or /link QQ 12345.",
)
_NO_ACCOUNT = Words(
    "要写成账号：/link tg:42、/link QQ 12345、/link 微信 号。群、共用的号和密钥不行。",
    "Write an account: /link tg:42, /link QQ 12345. Groups, shared ids and keys cannot be linked.",
)
_LINK_CODE = Words(
    "关联码：{code}\n10 分钟内用 {account} 私聊我发这个码，再按那边的提示确认。只能用一次，别给别人，也别发在群里。",
    "Code: {code}\nSend it to me in private from {account} within 10 minutes, and confirm there. It works once; give "
    "it to nobody, and never send it to a group.",
)
_CLAIM_CODE = Words(
    "认主人的码：{code}\n10 分钟内用你的 QQ、微信或 Telegram 私聊我发这个码，那个账号就也是主人。"
    "只能用一次，别给别人，也别发在群里。",
    "Owner's code: {code}\nSend it to me in private from your QQ, WeChat or Telegram within 10 minutes: that account "
    "is then the owner's, too. It works once; give it to nobody, and never send it to a group.",
)
_WHICH = Words("要解除哪一个？/unlink 账号。你的：{accounts}", "Which one? /unlink ACCOUNT. Yours: {accounts}")
_FIXED = Words(
    "这个账号拆不开：它是这里的第一个账号、终端，或者写在 qingtuan.toml 的 owner.accounts 里。",
    "That account cannot be parted: it is the first one, the terminal, or named in owner.accounts in qingtuan.toml.",
)
_NOT_YOURS = Words("这不是你的账号。", "That is not an account of yours.")
_NOTHING_LINKED = Words("你没有关联过别的账号。", "You have linked no other account.")
_PARTED = Words(
    "分开了：{accounts} 又是单独的人（{person}）。", "Parted: {accounts} is a person of its own again ({person})."
)
_AS_BEFORE = Words("两边的记忆都回到关联以前的样子。", "Both memories are as they were before.")
_STAYED = Words(
    "两边的记忆分开了；关联以后改过的页，改动留在这边：{pages}",
    "The memories are parted. What was changed since on these pages stays here: {pages}",
)
_MEMORY_STAYS = Words("记忆留在这边。", "The memory stays here.")
