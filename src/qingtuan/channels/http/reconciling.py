"""A stream that can only grow, of text that may be taken back."""

from __future__ import annotations


class Shown:
    """What a reader has before them, and what has to be added so that they read what is meant.

    What was shown cannot be unsaid. When it is taken back, nothing is added until it is clear whether what comes
    instead begins the same; if not, it stands in a paragraph of its own.
    """

    def __init__(self) -> None:
        self._any = False
        """Whether anything was shown at all."""
        self._part = ""
        """What was shown of the message that is growing."""
        self._instead: str | None = None
        """What came since that was taken back, while it may still turn out to begin the same."""

    def delta(self, text: str) -> str:
        """The message goes on: what to add."""
        if self._instead is None:
            return self._add(text)
        self._instead += text
        if self._part.startswith(self._instead):
            return ""
        return self._resolve(self._instead)

    def take_back(self) -> None:
        """What was shown of the message does not count."""
        if self._part:
            self._instead = ""

    def apart(self) -> None:
        """What was shown was said beside something that is done now; the message begins behind it."""
        self._part, self._instead = "", None

    def message(self, text: str) -> str:
        """The message is there, whole: what to add. The next one begins behind it."""
        added = "" if self._instead is None and self._part.endswith(text) else self._resolve(text)
        self._part, self._instead = "", None
        return added

    def _resolve(self, text: str) -> str:
        before, self._instead = self._part, None
        if text.startswith(before):
            return self._add(text[len(before) :])
        self._part = ""
        return self._add(text)

    def _add(self, text: str) -> str:
        if not text:
            return ""
        gap = "\n\n" if self._any and not self._part else ""
        self._any = True
        self._part += text
        return gap + text
