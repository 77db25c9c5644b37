"""The owner's texts that stand in prompts: templates, persona cards, what is public."""

from __future__ import annotations

from qingtuan.events.choices import Choices
from qingtuan.events.sessions import Session
from qingtuan.home import Home
from qingtuan.personas import cards
from qingtuan.prompt import templates
from qingtuan.settings import Settings
from qingtuan.turn.kit import Texts


def texts_of(home: Home, settings: Settings, choices: Choices) -> Texts:
    """The texts of a data folder. A card that was chosen by a command counts before that of the settings."""
    public = " ".join(part for part in (settings.owner.public_name, *settings.owner.public_ids) if part)

    def card(session: Session) -> cards.Card:
        usual = settings.persona.spaces.get(str(session.space), settings.persona.card)
        return cards.find(home.personas, choices.of(session.space, "persona") or usual, settings.speaks)

    return Texts(
        templates=lambda: templates.load(home.prompts, settings.speaks),
        card=card,
        owner_public=public,
        language=settings.speaks,
        zone=settings.zone,
    )
