"""Layer 3: how the assistant sounds here."""

from __future__ import annotations

from qingtuan.language import Words
from qingtuan.prompt.view import Layer, TurnView

_FRAME = Words("[角色卡：只管说话的样子]", "[Persona card: only how you sound]")


def persona(view: TurnView) -> Layer | None:
    """The chosen card, framed by a line that says what it cannot do."""
    if not view.persona:
        return None
    return Layer(
        "3", "persona card", f"{_FRAME.say(view.language)}\n{view.persona}", f"personas/{view.persona_name}.md"
    )
