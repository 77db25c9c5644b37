"""Parts of a message for QQ, which shows no markup: text that reads well without.

What looks like a code of QQ (`[CQ:at,qq=all]`) stays as it is: it is sent as a piece of text and never read.
"""

from __future__ import annotations

from qingtuan.channels.base import Part
from qingtuan.channels.text.bubbles import bubbled
from qingtuan.channels.text.cutting import Measure, pack
from qingtuan.channels.text.layout import Look, lay_out, linked
from qingtuan.channels.text.model import Run
from qingtuan.channels.text.reading import tree_of
from qingtuan.messages import Outbound
from qingtuan.settings.channels import Manners

LIMIT = 1800
"""Characters of a message. QQ names no limit; longer ones are refused at times (platforms.md §3.2)."""
_LOOK = Look(widest=30)


def parts(message: Outbound, manners: Manners) -> list[Part]:
    """The parts of a message in their order; files stand behind the text."""
    blocks = lay_out(tree_of(message), _LOOK)
    stretches = [
        runs for group in bubbled(blocks, message, manners.bubbles, _MEASURE) for runs in pack(group, _MEASURE)
    ]
    shown = [Part("".join(map(linked, runs))) for runs in stretches]
    return [*shown, *(Part(attachment=attached) for attached in message.attachments)]


def _around(run: Run) -> int:
    return len(linked(run)) - len(run.text)


_MEASURE = Measure(LIMIT, len, _around)
