"""Which tools there are, and which of them somebody may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from qingtuan.errors import Bug, SettingsWrong, ToolUnknown
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.tools.strict_json import brief
from qingtuan.tools.tool import Tool, wire_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "qingtuan.tools"
"""The entry-point group of plug-ins: each names a function without parameters that gives tools."""

Provider = Callable[[], Iterable[Tool]]
"""The door through which all tools come in, built-in or not."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What came in through the door, and what could not."""

    tools: tuple[Tool, ...]
    faults: tuple[SettingsWrong, ...]
    """One for each provider that failed: it costs its own tools and nothing else."""


def collect(providers: Mapping[str, Provider]) -> Collected:
    """The tools of all providers, in their order. A name that was taken before is a fault of the later one."""
    tools: dict[str, Tool] = {}
    faults = []
    for name, provider in providers.items():
        try:
            brought = {tool.name: tool for tool in provider()}
            if taken := sorted(brought.keys() & tools.keys()):
                raise ValueError(f"{taken[0]} exists already")
        except (ImportError, SyntaxError, AttributeError, TypeError, ValueError, LookupError, OSError) as error:
            faults.append(_fault(name, error))
        else:
            tools |= brought
    return Collected(tuple(tools.values()), tuple(faults))


def installed() -> dict[str, Provider]:
    """The providers of installed plug-ins, by name. Each is imported only when it is called."""
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    return {point.name: partial(_provide, point) for point in found}


def _provide(point: EntryPoint) -> Iterable[Tool]:
    tools: Iterable[Tool] = point.load()()
    return tools


def _fault(name: str, error: Exception) -> SettingsWrong:
    return SettingsWrong(
        Words(f"插件 {name} 的工具用不了：{error}", f"The tools of plug-in {name} cannot be used: {error}"),
        detail=repr(error),
    )


class Registry:
    """Tools by name, in a fixed order. Never changed: adding gives a new one."""

    def __init__(self, tools: Iterable[Tool] = (), granted: Mapping[str, frozenset[Role]] | None = None) -> None:
        """`granted` holds the roles that a setting gives tools, by name or shell pattern.

        Raises:
            Bug: two tools of one name.
        """
        self._granted = dict(granted or {})
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = wire_name(tool.name)
            if name in self._tools:
                raise Bug(Words(f"有两个工具叫 {name}", f"two tools are named {name}"))
            self._tools[name] = tool
        self._core = tuple(tool for tool in self if tool.core)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def adding(self, tools: Iterable[Tool]) -> Registry:
        """This registry with more tools at its end. Raises `Bug` for a name that is taken."""
        return Registry((*self, *tools), self._granted)

    def granted(self, name: str) -> frozenset[Role]:
        """The roles to which a setting gives the tool: their people confirm their own acts with it."""
        found = (roles for pattern, roles in self._granted.items() if fnmatchcase(name, pattern))
        return frozenset[Role]().union(*found)

    def permits(self, tool: Tool, role: Role) -> bool:
        """Whether this role may call the tool: by its own declaration, by a setting, or as the owner."""
        return role is Role.OWNER or role in tool.roles or role in self.granted(tool.name)

    def roles_of(self, tool: Tool) -> frozenset[Role]:
        """All roles whose people may call the tool."""
        return frozenset(role for role in Role if self.permits(tool, role))

    def allowed(self, reader: Reader) -> tuple[Tool, ...]:
        """The tools that a reader may use."""
        return tuple(tool for tool in self if self.permits(tool, reader.role))

    def core(self, reader: Reader) -> tuple[Tool, ...]:
        """Those of them that their model is always shown."""
        return tuple(tool for tool in self._core if self.permits(tool, reader.role))

    def find(self, name: str, reader: Reader) -> Tool | None:
        """The tool of this name, or of this name on the wire, if there is one that the reader may use."""
        tool = self._tools.get(name) or self._tools.get(wire_name(name))
        return tool if tool is not None and self.permits(tool, reader.role) else None

    def get(self, name: str, reader: Reader) -> Tool:
        """The tool of this name, or of this name on the wire.

        Raises:
            ToolUnknown: there is none, or not for this reader, who cannot tell the difference.
        """
        tool = self.find(name, reader)
        if tool is None:
            # What a server calls its tools is its own text, and no error of ours: those are found by a search.
            raise _unknown(name, [wire_name(tool.name) for tool in self.allowed(reader) if not tool.foreign_words])
        return tool


def _unknown(name: str, names: list[str]) -> ToolUnknown:
    shown = brief(name.encode("utf-8", "replace").decode())
    near = get_close_matches(name[:64], names, n=3, cutoff=0.5)
    if near:
        return ToolUnknown(
            Words(
                f"没有 {shown} 这个工具。相近的有：{'、'.join(near)}",
                f"There is no tool {shown}. Near it: {', '.join(near)}",
            )
        )
    return ToolUnknown(
        Words(
            f"没有 {shown} 这个工具。可以先用 capability_search 找找",
            f"There is no tool {shown}. Try capability_search first",
        )
    )
