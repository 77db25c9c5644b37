"""What the doctor says of the copy of the wiki elsewhere."""

from __future__ import annotations

import tempfile
from pathlib import Path

from qingtuan.app.memory import remote_of
from qingtuan.cli.checkups import Check, Finding
from qingtuan.cli.shell import Shell
from qingtuan.language import Words
from qingtuan.settings.fields import Url
from qingtuan.storage.git import Repository
from qingtuan.storage.git_exchange import Exchange


async def _remote(shell: Shell) -> Finding:
    remote = remote_of(shell.settings.wiki)
    if remote is None:
        return Finding("ok", _NONE)
    shown = Url(remote.address.url).shown()
    with tempfile.TemporaryDirectory() as name:
        exchange = Exchange(shell.home.wiki, remote.address, remote.access, shell.clock, beside=Path(name))
        await exchange.begin()
        theirs = await exchange.tip()
    repository = Repository(shell.home.wiki, shell.clock)
    ours = await repository.head() if (shell.home.wiki / ".git").exists() else None
    if theirs == ours:
        return Finding("ok", Words(f"{shown}，两边一样", f"{shown}, both are the same"))
    return Finding("note", Words(f"{shown}，两边不一样", f"{shown}, not the same as here"), _LOOK)


REMOTE_CHECK = Check("remote", Words("页面的另一份", "copy of the pages elsewhere"), _remote)

_NONE = Words("没有设", "none is set")
_LOOK = Words("qingtuan wiki remote 看差多少", "qingtuan wiki remote tells by how much")
