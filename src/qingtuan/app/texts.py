"""The owner's texts that stand in prompts: templates, persona cards, what is public."""

from __future__ import annotations

from qingtuan.events.choices import Choices
from qingtuan.home import Home
from qingtuan.messages import Space
from qingtuan.personas.choosing import Personas
from qingtuan.prompt import templates
from qingtuan.settings import Settings
from qingtuan.turn.kit import Texts


def texts_of(home: Home, settings: Settings, choices: Choices) -> Texts:
    """The texts of a data folder. A card that was chosen by a command counts before that of the settings."""
    public = " ".join(part for part in (settings.owner.public_name, *settings.owner.public_ids) if part)

    def usual(space: Space) -> str:
        return settings.persona.spaces.get(str(space), settings.persona.card)

    return Texts(
        templates=lambda: templates.load(home.prompts, settings.speaks),
        personas=Personas(home.personas, usual, choices, settings.speaks),
        owner_public=public,
        language=settings.speaks,
        zone=settings.zone,
    )
