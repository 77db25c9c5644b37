"""`errors.md`: the tree of errors, by who must act."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from qingtuan.cli.running import exit_of
from qingtuan.errors import Bug, ForModel, ForOwner, ForPerson, QingtuanError
from qingtuan.language import Language, Words
from scripts.reference.instance import Instance
from scripts.reference.text import NoWords, code, prose, say, table

TITLE = Words("错误", "Errors")

_INTRODUCTION = Words(
    """\
错误按谁要做点什么来分。
人看到的是一句话；名字是写程序的人用的，被拒绝的命令，事件 `command.run` 的 `error` 就是它。
出错不会丢消息，也不会让程序停下。
""",
    """\
Errors are split by who must act. What a person sees is one sentence. The names are for programmers; that of a refused
command stands in its event, as the `error` of `command.run`. No error loses a message or ends the process.
""",
)
_WHO: Mapping[type[QingtuanError], tuple[Words, Words]] = {
    ForModel: (
        Words("模型", "The model"),
        Words(
            "作为那次调用的结果交还给它，它可以再试。",
            "It gets the error as the result of its call, and may try again.",
        ),
    ),
    ForPerson: (
        Words("说话的人", "The person who spoke"),
        Words("得到一句说得清楚的话。", "They get one clear sentence."),
    ),
    ForOwner: (
        Words("主人", "The owner"),
        Words("要修一样东西；别人只得到一句笼统的话。", "They have to mend something; others get a general sentence."),
    ),
    Bug: (
        Words("没有人", "Nobody"),
        Words("是我们自己的错；详情在记录里。", "It is our own mistake; the details stand in the record."),
    ),
}
_CHINESE: Mapping[str, tuple[str, str]] = {
    "ArgumentsRefused": (
        "一次调用的参数不是合乎工具格式的 JSON。",
        "The arguments of a call are not strict JSON by the tool's schema.",
    ),
    "ToolUnknown": ("叫了一个这个人在这里用不了的工具。", "A call names no tool that this person may use here."),
    "ToolFailed": ("工具运行了，没能做到。", "A tool ran and could not do what was asked."),
    "ToolTimedOut": ("工具超过时限，被停下了。", "A tool was stopped by its time limit."),
    "OutcomeUnknown": (
        "工具做到一半断了，比如和服务器的连接断了：可能已经做成。",
        "A tool lost sight of what it had begun, as when the connection to its server broke: it may have been done.",
    ),
    "UsageWrong": ("开头像命令，却看不懂。", "Words that cannot be understood as the command they begin."),
    "NotAllowed": (
        "按角色或范围不允许。那句话不透露有什么。",
        "Refused by role or scope. The sentence tells nothing of what exists.",
    ),
    "LimitReached": ("太长、太快或太多。", "A limit of length, rate or number."),
    "NotThere": (
        "没有这个名字或编号，至少这个人看不到。",
        "Nothing of that name or number, as far as this reader may see.",
    ),
    "PageChanged": (
        "一页维基已经不是读到的样子：要重新读，再改。",
        "A wiki page is no longer what was read: it has to be read again, and the change applied to that.",
    ),
    "CannotUndo": ("要撤销的地方后来又改过。", "What is to be taken back was changed again since."),
    "FetchFailed": (
        "消息带来的或者一个地址指着的东西，取不到或者不能留。",
        "What a message brought along, or an address points to, could not be fetched or kept.",
    ),
    "Stopped": ("这个人让正在做的停下了。", "The person stopped the running turn."),
    "SettingsWrong": ("一项设置、设置文件或密钥不能用。", "A setting, settings file or key that cannot be used."),
    "ModelUnreachable": ("重试和备用都没有模型回答。", "No model answered, after retries and fall-back."),
    "ModelRefused": (
        "服务商拒绝了请求，原因重试也改变不了。",
        "A provider refused a request for a reason that a retry does not change.",
    ),
    "ServerDown": ("带来工具的服务器起不来。", "A server that brings tools cannot be started."),
    "HomeInUse": ("数据文件夹正被另一个进程用着。", "The data folder belongs to another running process."),
    "Disconnected": (
        "数据文件夹所属的进程在回答之前没了。",
        "The process that owns the data folder went away while it was being asked.",
    ),
    "WeightsUnavailable": ("没有一个来源给出本机模型的权重。", "No source gave the weights of the local model."),
    "StorageFailed": ("磁盘或数据库拒绝了。", "The disk or the database refused."),
    "BackupUnusable": (
        "一份备份用不了：损坏了、来自更新的版本，或者根本不是我们的。什么都没有动。",
        "A backup that is damaged, of a newer version, or none of ours. Nothing was changed.",
    ),
    "RemoteRefused": (
        "维基的远程连不上、不答应，或者里面有不能收的东西；这里什么都没改。",
        "The remote of the wiki is out of reach, says no, or holds what is not taken; nothing was changed here.",
    ),
    "LoginFailed": (
        "一个账号在它的平台上没有登录成；什么都没改。",
        "An account could not be logged in on its platform; nothing was changed.",
    ),
    "PageUnreadable": (
        "一页维基没法不丢内容地读出来；它原样留着。",
        "A wiki page that could not be read without losing something; it is left as it is.",
    ),
    "Bug": ("我们自己的错。", "Our own mistake."),
}
"""Chinese for what docstrings say, beside the English that it was written for: where that changes, so must this."""
_HEADS = (Words("名字", "name"), Words("意思", "meaning"), Words("命令行的退出码", "exit status"))


def tree() -> Iterator[type[QingtuanError]]:
    """Every error that `errors.py` defines, in the order of its tree."""
    for branch in _WHO:
        yield from _kinds(branch)


def exit_status(kind: type[QingtuanError]) -> int:
    """With which status a command ends that such an error ended."""
    return exit_of(kind.__new__(kind))


def _kinds(branch: type[QingtuanError]) -> list[type[QingtuanError]]:
    # Narrower kinds elsewhere are for their own part, and depend on what is imported.
    return [kind for kind in branch.__subclasses__() if kind.__module__ == branch.__module__] or [branch]


def write(language: Language, _: Instance) -> str:
    """The page below its title."""
    parts = [prose(_INTRODUCTION, language)]
    for branch, (who, what) in _WHO.items():
        rows = [
            (code(kind.__name__), _meaning(kind, language), code(str(exit_status(kind)))) for kind in _kinds(branch)
        ]
        parts.append(f"## {who.say(language)}\n\n{what.say(language)}")
        # What goes to the model ends no command.
        columns = 2 if branch is ForModel else 3
        heads = [words.say(language) for words in _HEADS]
        parts.append(table(heads[:columns], (row[:columns] for row in rows)))
    return "\n\n".join(parts)


def _meaning(kind: type[QingtuanError], language: Language) -> str:
    said = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    chinese, english = _CHINESE.get(kind.__name__, ("", ""))
    if english != said:
        raise NoWords(f"error {kind.__name__} (its Chinese stands in {__name__})")
    return say(Words(chinese, said), language, f"error {kind.__name__}")
