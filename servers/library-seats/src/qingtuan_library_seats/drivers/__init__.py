"""The drivers that there are: `demo`, and those that other packages bring.

A package brings one by an entry point in the group `qingtuan_library_seats.drivers`, which names a function from
`Settings` to a `Driver`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import cast

from qingtuan_library_seats.driver import Driver
from qingtuan_library_seats.errors import SettingsWrong
from qingtuan_library_seats.settings import Settings
from qingtuan_library_seats.text import clean, listed

GROUP = "qingtuan_library_seats.drivers"

Factory = Callable[[Settings], Driver]


def make_driver(settings: Settings) -> Driver:
    """The driver that the settings name.

    Raises:
        SettingsWrong: if there is none of that name, or it cannot be loaded.
    """
    if settings.driver == "demo":
        from qingtuan_library_seats.drivers.demo import DemoDriver

        return DemoDriver(settings)
    brought = {point.name: point for point in entry_points(group=GROUP)}
    if settings.driver not in brought:
        known = listed(["demo", *sorted(brought)])
        raise SettingsWrong(f"没有“{clean(settings.driver)}”这个驱动，装好的有：{known}；请改 LIBRARY_DRIVER。")
    try:
        factory = cast("Factory", brought[settings.driver].load())
    except (ImportError, AttributeError) as error:
        raise SettingsWrong(f"驱动“{clean(settings.driver)}”装载不了：{clean(str(error), 160)}。") from error
    return factory(settings)
