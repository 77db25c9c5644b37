"""Whether an entry says what a statement says, however either is worded (memory.md, Writing 5)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from qingtuan.memory.likeness import contains, fold, negated, normalise_subject, normalise_text, normalise_value
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.page import Belief

_REASON = re.compile(r"\s?[（(][^（()）]*[)）]$")
"""What may stand at the end of a line of history beside the statement itself."""


class Wording:
    """One statement, made comparable once, to be held against many entries."""

    def __init__(
        self, text: str, subject: str, predicate: str | None, value: str | None, aliases: Mapping[str, str]
    ) -> None:
        self._text = normalise_text(text)
        self._value = normalise_value(value) if value else ""
        self._negated = negated(text)
        self._subject = fold(normalise_subject(subject))
        self._aliases = aliases
        self._predicate = self._key(predicate)

    @property
    def keys(self) -> list[str]:
        """What `keys_of` an entry that says this, or answers the same question, has at least one of."""
        names = {alias for alias, name in self._aliases.items() if fold(name) == self._predicate}
        questions = sorted({self._predicate, *names}) if self._predicate else []
        return [f"={self._text}", *(f"?{name}" for name in questions)]

    def same_question(self, data: BeliefData) -> bool:
        """Whether an entry answers the same question: subject and predicate are the same."""
        if self._predicate is None or data.predicate is None:
            return False
        return self._key(data.predicate) == self._predicate and self._same_subject(data)

    def said_by(self, belief: Belief, *, same_message: bool, many: bool) -> bool:
        """Whether `belief` says this: the same sentence, the same value, or the same message in other words.

        `same_message`: both come from one event. `many`: the predicate holds several values at a time.
        """
        if belief.data.subject is not None and not self._same_subject(belief.data):
            return False
        stated = self._sentence(belief)
        if stated == self._text:
            return True
        same_question = self.same_question(belief.data)
        if same_question and self._value and self._same_value(belief.data.value, stated):
            return True
        if not same_message or (many if same_question else self._predicate and belief.data.predicate):
            return False  # one message may well tell several things
        theirs = normalise_value(belief.data.value) if belief.data.value else stated
        ours = self._value or self._text
        return self._held_in(stated, ours) or (contains(ours, theirs) and negated(theirs) == negated(ours))

    def _sentence(self, belief: Belief) -> str:
        """What the entry says, comparable; of history without the reason if only that makes it different."""
        stated = normalise_text(belief.statement)
        if belief.current or stated == self._text:
            return stated
        bare = normalise_text(_without_reason(belief))
        return bare if bare == self._text else stated

    def _same_value(self, value: str | None, stated: str) -> bool:
        return self._held_in(stated, self._value) if value is None else normalise_value(value) == self._value

    def _held_in(self, stated: str, part: str) -> bool:
        """Whether a sentence holds a part of the statement, and says no no more and no less than the statement."""
        return contains(stated, part) and negated(stated) == self._negated

    def _same_subject(self, data: BeliefData) -> bool:
        return fold(normalise_subject(data.subject)) == self._subject

    def _key(self, predicate: str | None) -> str | None:
        key = fold(predicate) if predicate else ""
        name = self._aliases.get(key)
        return (fold(name) if name else key) or None


def keys_of(belief: Belief) -> list[str]:
    """By what an entry can be found for comparing: its sentence, its predicate, and the event in which it was said."""
    data = belief.data
    keys = [f"={normalise_text(belief.statement)}"]
    if not belief.current and (bare := _without_reason(belief)) != belief.statement:
        keys.append(f"={normalise_text(bare)}")
    if data.predicate:
        keys.append(f"?{fold(data.predicate)}")
    if data.source:
        keys.append(data.source)
    return keys


def _without_reason(belief: Belief) -> str:
    return _REASON.sub("", belief.statement)
