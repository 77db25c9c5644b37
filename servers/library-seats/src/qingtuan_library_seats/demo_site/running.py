"""Starting the demo library, from the command line or inside a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from starlette.routing import Route

from qingtuan_library_seats.demo_site.admin import Admin
from qingtuan_library_seats.demo_site.clock import Clock
from qingtuan_library_seats.demo_site.faults import Connections, Faults, FaultyApp
from qingtuan_library_seats.demo_site.library import Library
from qingtuan_library_seats.demo_site.site import Site, application
from qingtuan_library_seats.demo_site.store import Store
from qingtuan_library_seats.serving import address_of, listen, serving


@dataclass(frozen=True, slots=True)
class Options:
    """What can be asked of a demo library; without any it is a well-behaved one."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    data: Path | None = None
    """The file that outlives a restart; None keeps everything in memory."""
    accounts: Mapping[str, str] = field(default_factory=lambda: {"demo": "demo"}, repr=False)
    library: Library = field(default_factory=Library)
    now: datetime | None = None
    """The moment at which its clock starts, in local time; None is the machine's."""
    session_minutes: int = 120
    captcha: bool = False
    fail_rate: float = 0.0
    """The share of pages that fail, 0 to 1."""
    seed: int | None = None
    slow: float = 0.0
    """Seconds before each page."""
    admin_token: str | None = field(default=None, repr=False)


@asynccontextmanager
async def running(options: Options) -> AsyncIterator[str]:
    """The library is open as long as the block runs; gives its address.

    Raises:
        OSError: if the port is taken.
        sqlite3.Error: if the file cannot be used.
    """
    clock = Clock(options.now)
    store = Store(options.data, session_minutes=options.session_minutes)
    try:
        faults, connections = Faults(rate=options.fail_rate, seed=options.seed), Connections()
        site = Site(
            options.library, store, accounts=options.accounts, now=clock.now, captcha=options.captcha
        )  # fmt: skip
        more: list[Route] = []
        if options.admin_token is not None:
            admin = Admin(
                options.admin_token, site=site, library=options.library, store=store, faults=faults, clock=clock
            )
            more = admin.routes()
        app = FaultyApp(application(site, more), faults, connections, slow=options.slow)
        sock = listen(options.host, options.port)
        async with serving(app, sock, protocol=connections.protocol):
            yield address_of(sock)
    finally:
        store.close()
