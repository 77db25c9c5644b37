"""The catalog of an instance: its built-in tools and plug-ins as the settings want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase

from qingtuan.capabilities.catalog import ALWAYS_CORE, OWN, Catalog
from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.capabilities.tools import CapabilityTools
from qingtuan.identity.scopes import Role
from qingtuan.indexes.indexes import Indexes
from qingtuan.settings import Settings
from qingtuan.tools.tool import Tool, tools_of


def catalog_of(own: Sequence[Tool], indexes: Indexes, settings: Settings) -> Catalog:
    """A catalog of `own` tools and those that search it; servers add theirs later."""
    granted = {name: frozenset({Role(role)}) for name, role in settings.access.tools.items()}
    search = CapabilitySearch(indexes.open("capabilities"))
    catalog = Catalog(search, granted, most_paged=settings.tools.most_paged)
    catalog.put(OWN, wanted([*own, *tools_of(CapabilityTools(catalog))], settings))
    return catalog


def wanted(tools: Sequence[Tool], settings: Settings) -> list[Tool]:
    """Tools as the settings want them: without those that are switched off, paged, patient. Names may be patterns."""
    return [_as_wanted(tool, settings) for tool in tools if not _named(tool, settings.tools.off)]


def _as_wanted(tool: Tool, settings: Settings) -> Tool:
    minutes = settings.confirmations.tool_minutes
    if tool.name in minutes:
        tool = replace(tool, patience=timedelta(minutes=minutes[tool.name]))
    if tool.core and _named(tool, settings.tools.paged) and tool.name not in ALWAYS_CORE:
        tool = replace(tool, core=False)
    return tool


def _named(tool: Tool, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(tool.name, pattern) for pattern in patterns)
