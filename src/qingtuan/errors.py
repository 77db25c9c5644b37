"""Every error that parts raise to each other on purpose, split by who must act.

    QingtuanError
    ├── ForModel                 goes back to the model as the result of its call; it may try again
    │   ├── ArgumentsRefused     cut-off, malformed, wrong or extra arguments
    │   ├── ToolUnknown          no such tool; near names are given
    │   ├── ToolFailed           the tool ran and said no
    │   ├── ToolTimedOut         the tool took too long
    │   └── OutcomeUnknown       the tool lost sight of what it was doing: it may have been done
    ├── ForPerson                one clear sentence to whoever spoke
    │   ├── UsageWrong           a command or option that cannot be understood
    │   ├── NotAllowed           this person may not do that here
    │   ├── LimitReached         too long, too fast, too many
    │   ├── NotThere             what was named does not exist, or not for this reader
    │   ├── PageChanged          a wiki page is no longer what was read
    │   ├── CannotUndo           what is to be taken back was changed again since
    │   ├── FetchFailed          what a message or a link points to could not be fetched, or not be kept
    │   └── Stopped              the person stopped the turn
    ├── ForOwner                 the owner has to mend something; others get a general sentence
    │   ├── SettingsWrong        a setting, a file or a key that cannot be used
    │   ├── ModelUnreachable     no model answered after retries and fall-back
    │   ├── ModelRefused         the provider refused the request (key, balance, content, shape)
    │   ├── ServerDown           a server that brings tools cannot be started
    │   ├── HomeInUse            another process owns the data folder
    │   ├── Disconnected         the process that owns the data folder went away
    │   ├── WeightsUnavailable   no source gave the weights of the local model
    │   ├── StorageFailed        the disk or the database refuses
    │   ├── BackupUnusable       a backup that is damaged, newer or none of ours
    │   ├── RemoteRefused        the remote of the wiki cannot be used as it is
    │   ├── LoginFailed          a platform did not let an account in
    │   └── PageUnreadable       a wiki page that cannot be parsed without losing something
    └── Bug                      nobody can act: our own mistake

`except Exception` stands only at the edges of a turn, a probe and a channel. Where a part tells more apart for itself,
the narrower kind stands with that part: to all others it is what it is drawn under here.
"""

from __future__ import annotations

from typing import Literal

from qingtuan.language import Language, Words


class QingtuanError(Exception):
    """Base of all of them. Carries one sentence in both languages."""

    def __init__(self, words: Words, *, detail: str = "") -> None:
        super().__init__(words.en + (f" ({detail})" if detail else ""))
        self.words = words
        self.detail = detail
        """For logs and the owner only: never shown to anybody else."""

    def say(self, language: Language) -> str:
        """The sentence for a person."""
        return self.words.say(language)


class ForModel(QingtuanError):
    """The model must act. Its sentence says what was expected."""


class ArgumentsRefused(ForModel):
    """The arguments of a call are not strict JSON by the tool's schema."""


class ToolUnknown(ForModel):
    """A call names no tool that this person may use here."""


class ToolFailed(ForModel):
    """A tool ran and could not do what was asked."""

    def __init__(self, words: Words, *, detail: str = "", foreign: bool = False) -> None:
        super().__init__(words, detail=detail)
        self.foreign = foreign
        """Whether the sentence quotes material, also where the tool's own words are no material."""


class ToolTimedOut(ForModel):
    """A tool was stopped by its time limit."""


class OutcomeUnknown(ForModel):
    """A tool lost sight of what it had begun, as when the connection to its server broke: it may have been done."""


class ForPerson(QingtuanError):
    """The person who spoke must act."""


class UsageWrong(ForPerson):
    """Words that cannot be understood as the command they begin."""


class NotAllowed(ForPerson):
    """Refused by role or scope. The sentence tells nothing of what exists."""


class LimitReached(ForPerson):
    """A limit of length, rate or number."""


class NotThere(ForPerson):
    """Nothing of that name or number, as far as this reader may see."""


class PageChanged(ForPerson):
    """A wiki page is no longer what was read: it has to be read again, and the change applied to that."""

    def __init__(self, path: str) -> None:
        super().__init__(
            Words(f"「{path}」刚刚被改过，请看过新内容再改。", f"“{path}” was changed meanwhile; look at it first.")
        )
        self.path = path


class CannotUndo(ForPerson):
    """What is to be taken back was changed again since."""

    def __init__(self, path: str) -> None:
        super().__init__(
            Words(
                f"撤销不了：「{path}」的同一处后来又改过。请直接改那一页或那一条。",
                f"It cannot be undone: the same place in “{path}” was changed again since. Please edit it directly.",
            )
        )
        self.path = path


class FetchFailed(ForPerson):
    """What a message brought along, or an address points to, could not be fetched or kept."""

    def __init__(self, words: Words, *, detail: str = "", again: bool = False) -> None:
        super().__init__(words, detail=detail)
        self.again = again
        """Whether it may work when it is tried again: the network, not the thing."""


class Stopped(ForPerson):
    """The person stopped the running turn."""


class ForOwner(QingtuanError):
    """The owner must mend something."""


class SettingsWrong(ForOwner):
    """A setting, settings file or key that cannot be used."""


class ModelUnreachable(ForOwner):
    """No model answered, after retries and fall-back."""


RefusalReason = Literal["key", "balance", "content", "history", "model", "request"]


class ModelRefused(ForOwner):
    """A provider refused a request for a reason that a retry does not change.

    `reason` says which: the key, the balance, a content filter, a message of the history, the model's
    name, or the shape of the request.
    """

    def __init__(self, words: Words, *, reason: RefusalReason, detail: str = "") -> None:
        super().__init__(words, detail=detail)
        self.reason = reason


class ServerDown(ForOwner):
    """A server that brings tools cannot be started."""


class HomeInUse(ForOwner):
    """The data folder belongs to another running process."""


class Disconnected(ForOwner):
    """The process that owns the data folder went away while it was being asked."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(
            Words("正在运行的小青团停了。", "The running Qingtuan has stopped."),
            detail=detail,
        )


class WeightsUnavailable(ForOwner):
    """No source gave the weights of the local model."""


class StorageFailed(ForOwner):
    """The disk or the database refused."""


class BackupUnusable(ForOwner):
    """A backup that is damaged, of a newer version, or none of ours. Nothing was changed."""


class RemoteRefused(ForOwner):
    """The remote of the wiki is out of reach, says no, or holds what is not taken; nothing was changed here."""


class LoginFailed(ForOwner):
    """An account could not be logged in on its platform; nothing was changed."""


class PageUnreadable(ForOwner):
    """A wiki page that could not be read without losing something; it is left as it is."""


class Bug(QingtuanError):
    """Our own mistake."""
