"""All models of an instance behind one door: which one a turn gets, and an answer in spite of failures."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from qingtuan.clock import Clock
from qingtuan.models.chat import ChatEvent, ChatModel, Closes, Recorder, Request, WireRequest
from qingtuan.models.client import Client, Endpoint, Timeouts
from qingtuan.models.profiles import GENERIC, Profile, override, recognise
from qingtuan.models.retry import Attempt, Patience, Persistent
from qingtuan.models.routing import Route
from qingtuan.models.usage import Price


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The models of one endpoint, as the settings have them."""

    endpoint: Endpoint
    model: str
    vision_model: str | None = None
    code_model: str | None = None
    flash_model: str | None = None
    fallback_model: str | None = None
    thinking: bool | None = None
    """None leaves it to the provider."""
    timeouts: Timeouts = Timeouts()  # noqa: RUF009 (frozen)
    profiles: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What `model check` found out, or the owner knows better: fields of `Profile` by model name."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By model name; they go before the built-in ones."""

    def profile(self, model: str) -> Profile:
        """What `model` can do.

        Raises:
            SettingsWrong: an override that fits no profile.
        """
        profile = override(recognise(self.endpoint.base_url, model), self.profiles.get(model, {}))
        price = self.prices.get(model)
        return replace(profile, price=price) if price else profile


@dataclass(frozen=True, slots=True)
class Choice:
    """The model of a route, and how it is to be asked."""

    route: Route
    model: str
    profile: Profile
    thinking: bool | None

    @property
    def tools(self) -> bool:
        """Whether tools may be shown. Some models that see go blind, without a word, when there are any
        (turn.md, Models); so a picture is looked at without."""
        return self.route != "vision" and self.profile.tools

    @property
    def sees(self) -> bool:
        """Whether it can be shown pictures at all."""
        return self.profile.vision != "none"


@dataclass(frozen=True, slots=True)
class Lineup:
    """Which model does what: names by route, and what comes after a failure."""

    default: str
    profile_of: Callable[[str], Profile]
    routes: Mapping[Route, str] = field(default_factory=dict)
    """Routes with a model of their own; all others fall to `default`."""
    fallback: str | None = None
    thinking: bool | None = None
    told: Callable[[str], bool] = lambda _: False
    """Whether the settings say of a model how it takes pictures."""


class Models:
    """A `ChatModel` that does not give up easily, and the choice of models by route."""

    def __init__(
        self, model: ChatModel, lineup: Lineup, persistent: Persistent, fallback: ChatModel | None = None
    ) -> None:
        """`model` answers for every name in `lineup`: an endpoint, or the embedded model. `fallback` answers for
        the name of the fall-back, if that lives elsewhere."""
        self._model = model
        self._fallback = fallback or model
        self._lineup = lineup
        self._persistent = persistent

    @classmethod
    def of_endpoint(
        cls,
        config: ModelConfig,
        clock: Clock,
        chance: random.Random,
        call_id: Callable[[], str],
        fallback: ChatModel | None = None,
    ) -> Self:
        """The models of an endpoint. Connects to nothing yet.

        Raises:
            SettingsWrong: an override of a profile that fits none.
        """
        profiles: dict[str, Profile] = {}

        def profile_of(model: str) -> Profile:
            if model not in profiles:
                profiles[model] = config.profile(model)
            return profiles[model]

        own: Mapping[Route, str | None] = {
            "vision": config.vision_model,
            "code": config.code_model,
            "flash": config.flash_model,
        }
        routes = {route: name for route, name in own.items() if name}
        for name in (config.model, *routes.values()):
            profile_of(name)
        return cls(
            Client(config.endpoint, profile_of, call_id, clock, config.timeouts),
            Lineup(
                config.model,
                profile_of,
                routes,
                config.fallback_model,
                config.thinking,
                told=lambda name: "vision" in config.profiles.get(name, {}),
            ),
            Persistent(clock, chance, Patience()),
            fallback,
        )

    def choose(self, route: Route, model: str | None = None) -> Choice:
        """The model of `route`; `model` is what a session was set to by hand, and goes before all but a picture."""
        own = self._lineup.routes.get(route)
        name = (own or model) if route == "vision" else (model or own)
        name = name or self._lineup.default
        profile = self._lineup.profile_of(name)
        # A greeting needs no thinking, and thinking makes some models blind.
        thinking = False if route in ("vision", "flash") else self._lineup.thinking
        return Choice(route, name, profile, thinking)

    @property
    def looks(self) -> Choice | None:
        """The model that pictures are shown to: the one that the settings name for it, else the default one where it is
        known to see. None where there is none: of an unknown model nobody knows whether it only pretends to."""
        choice = self.choose("vision")
        named = "vision" in self._lineup.routes
        return choice if self._sees(choice.model) or (named and choice.sees) else None

    def _sees(self, model: str) -> bool:
        """Whether a model is known to see."""
        profile = self._lineup.profile_of(model)
        return profile.vision != "none" and (profile.name not in _UNKNOWN or self._lineup.told(model))

    def profile(self, model: str) -> Profile:
        """What a model can do, and what it costs."""
        return self._lineup.profile_of(model)

    def encode(self, request: Request) -> WireRequest:
        """The request as it would go to the model that it names."""
        return self._model.encode(request)

    def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        """The answer of the model that the request names, after retries; else that of the fall-back.

        Raises:
            ModelUnreachable: nobody answered.
            ModelRefused: the provider refuses for a reason that does not go away by itself.
        """
        attempts = [Attempt(self._model, request)]
        fallback = self._lineup.fallback
        # A model that does not see makes something up about a picture, and nobody would know.
        blind = any(message.images for message in request.messages) and not (fallback and self._sees(fallback))
        if fallback and fallback != request.params.model and not blind:
            again = replace(request, params=replace(request.params, model=fallback))
            attempts.append(Attempt(self._fallback, again))
        return self._persistent.stream(attempts, recorder)

    async def close(self) -> None:
        """Let go of what the models hold: connections, the process of the embedded one."""
        for model in {id(model): model for model in (self._model, self._fallback)}.values():
            if isinstance(model, Closes):
                await model.close()


_UNKNOWN = frozenset({GENERIC.name, "embedded"})
"""Profiles of models of which nothing is known."""
