"""Settings about self-made capabilities."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Example, Section


class Capabilities(Section):
    """Tools that the assistant makes for itself."""

    resident: Annotated[
        int,
        Field(ge=1, le=100_000),
        Words(
            "最多让几个随时备着；别的照样能用，用到时再拿。",
            "How many are held ready at most; others are stored all the same, and fetched when called.",
        ),
    ] = 100
    headers: Annotated[
        dict[str, dict[str, SecretStr]],
        Example('{"api.example.com" = {Authorization = "Bearer ${EXAMPLE_KEY}"}}'),
        Words(
            "去哪个主机要加什么头，代码看不见；${名字} 是 .env 里的值。",
            "Headers added for a host, which the code never sees; ${NAME} is a value of .env.",
        ),
    ] = Field(default_factory=dict)
