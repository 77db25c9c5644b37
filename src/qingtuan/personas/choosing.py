"""Which card counts in which space: the one that a command chose, else the one of the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from qingtuan.events.choices import Choices
from qingtuan.language import Language
from qingtuan.messages import Space
from qingtuan.personas import cards
from qingtuan.personas.cards import Card, Unusable


@dataclass(frozen=True, slots=True)
class Personas:
    """The cards of a data folder, read afresh each time, so that an edit counts at once."""

    folder: Path
    usual: Callable[[Space], str]
    """The name of the card that the settings want in a space."""
    choices: Choices
    language: Language

    def name(self, space: Space) -> str:
        """The name of the card that counts in a space."""
        return self.choices.of(space, "persona") or self.usual(space)

    def card(self, space: Space) -> Card | Unusable:
        """The card that counts in a space, or why it cannot be used."""
        return self.find(self.name(space))

    def find(self, name: str) -> Card | Unusable:
        """The card of this name, or why it cannot be used."""
        return cards.find(self.folder, name, self.language)

    def every(self) -> list[Card | Unusable]:
        """All cards that there are, by name."""
        return cards.every(self.folder, self.language)

    def meant(self, words: str) -> Card | Unusable:
        """The card that somebody means: by its name, else by a title that no other has."""
        found = self.find(words)
        if isinstance(found, Unusable) and found.source is None:
            titled = [card for card in self.every() if isinstance(card, Card) and card.title == words]
            return titled[0] if len(titled) == 1 else found
        return found

    def chosen_in(self, name: str) -> list[Space]:
        """The spaces for which a command chose this card."""
        return sorted(self.choices.spaces("persona", name), key=str)
