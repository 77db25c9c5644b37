"""Who is answered, as settings and the owner's commands say."""

from __future__ import annotations

from qingtuan.events.choices import Choices
from qingtuan.identity.access import AccessRules, Limits
from qingtuan.identity.scopes import Role
from qingtuan.settings import Settings
from qingtuan.settings.people import RoleLimits


def access_of(settings: Settings, choices: Choices) -> AccessRules:
    """The rules of this moment."""
    limits = settings.limits
    enabled, disabled = (frozenset(space.id for space in choices.spaces("enabled", word)) for word in ("yes", "no"))
    return AccessRules(
        groups=frozenset(settings.access.groups) | enabled,
        disabled=disabled,
        trial=settings.access.trial,
        limits={Role.GUEST: _limits(limits.guest), Role.MEMBER: _limits(limits.member)},
        tokens_of_all=settings.budgets.tokens_of_all,
    )


def _limits(wanted: RoleLimits) -> Limits:
    return Limits(
        private_chars=wanted.private_chars or None,
        group_chars=wanted.group_chars or None,
        material_chars=wanted.material_chars or None,
        private_cooldown=wanted.private_cooldown,
        group_cooldown=wanted.group_cooldown,
        queued=wanted.queued,
        turns_a_day=wanted.turns_a_day,
        tokens_a_day=wanted.tokens_a_day,
    )
