"""What is said when something has been remembered by command."""

from __future__ import annotations

from qingtuan.identity.redaction import secrets_in
from qingtuan.language import Language, Words
from qingtuan.memory.known import Known


def hidden(text: str, known: Known, language: Language) -> str:
    """What of `text` is not kept in the entry that came of it; empty if all of it is."""
    kept = secrets_in(known.belief.text)
    kinds = [kind.words.say(language) for kind in secrets_in(text) if kind not in kept]
    return _HIDDEN.say(language).format(kinds="、".join(kinds)) if kinds else ""


WAITS = Words("先没有记：{reason}", "Not written yet: {reason}")
_HIDDEN = Words("{kinds}不记，已隐去。", " {kinds}: not kept, hidden.")
