"""Thinking that a model writes into its text, between `<think>` and `</think>`, taken out as it streams."""

from __future__ import annotations

import re

from qingtuan.models.chat import TakenBack, TextDelta

_OPEN = "<think>"
_CLOSE = "</think>"
_TAG = re.compile("</?think>")


class Thoughts:
    """Divides streamed text into what is shown and what was thought.

    A tag counts where a model puts it to think: not in a code block nor between backticks, where somebody
    talks about it. A closing tag without an opening one (some servers put that into the prompt) makes everything
    before it a thought: it is taken back.
    """

    def __init__(self) -> None:
        self.thoughts: list[str] = []
        self._shown: list[str] = []
        self._held = ""
        """The end of the text so far, if it may be the beginning of a tag."""
        self._inside = False
        self._opened_at = 0
        """How many thoughts there were when the open one began."""
        self._opened_in_line = False
        self._tagged = False

    @property
    def text(self) -> str:
        """All that is shown so far, without leading white space."""
        return "".join(self._shown)

    def feed(self, piece: str) -> list[TextDelta | TakenBack]:
        """What a piece of text adds to what is shown."""
        if not self._inside and not self._held and self._shown and "<" not in piece:
            return self._show(piece)
        text = self._held + piece
        self._held = ""
        out: list[TextDelta | TakenBack] = []
        while text:
            text = self._inner(text) if self._inside else self._outer(text, out)
        return out

    def end(self) -> list[TextDelta | TakenBack]:
        """What was held back and turns out to be text."""
        held, self._held = self._held, ""
        if not self._inside:
            return self._show(held)
        if not self._opened_in_line:
            self.thoughts.append(held)
            return []
        # Never closed, and opened in the middle of a sentence: the tag was mentioned, not used.
        mentioned = "".join(self.thoughts[self._opened_at :])
        del self.thoughts[self._opened_at :]
        return self._show(_OPEN + mentioned + held)

    def _inner(self, text: str) -> str:
        thought, tag, rest = text.partition(_CLOSE)
        if not tag:
            thought, self._held = _without_start_of_tag(thought)
        else:
            self._inside = False
        self.thoughts.append(thought)
        return rest

    def _outer(self, text: str, out: list[TextDelta | TakenBack]) -> str:
        found = _TAG.search(text)
        if found is None:
            text, self._held = _without_start_of_tag(text)
            out += self._show(text)
            return ""
        before, tag, rest = text[: found.start()], found[0], text[found.end() :]
        line = (self.text + before).rpartition("\n")[2]
        if self._quoted(before, line) or (tag == _CLOSE and self._tagged):
            out += self._show(before + tag)
            return rest
        self._tagged = True
        if tag == _CLOSE:
            if self._shown:
                out[:] = [TakenBack()]
            self.thoughts.append((self.text + before).lstrip())
            self._shown.clear()
            return rest
        out += self._show(before)
        self._inside = True
        self._opened_at = len(self.thoughts)
        self._opened_in_line = bool(line.strip())
        return rest

    def _quoted(self, before: str, line: str) -> bool:
        return line.count("`") % 2 == 1 or (self.text + before).count("```") % 2 == 1

    def _show(self, text: str) -> list[TextDelta | TakenBack]:
        if not self._shown:
            text = text.lstrip()
        if not text:
            return []
        self._shown.append(text)
        return [TextDelta(text)]


def _without_start_of_tag(text: str) -> tuple[str, str]:
    """`text` without, and then only, the ending that may grow into a tag."""
    at = text.rfind("<", max(0, len(text) - len(_CLOSE) + 1))
    if at >= 0 and (_OPEN.startswith(text[at:]) or _CLOSE.startswith(text[at:])):
        return text[:at], text[at:]
    return text, ""
