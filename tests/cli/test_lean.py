"""What `serve` does without."""

from __future__ import annotations

import subprocess
import sys


def test_httpx_works_and_brings_no_command_line() -> None:
    code = (
        "import sys; from qingtuan.cli.lean import leave_out; leave_out(); import httpx; leave_out()\n"
        "import qingtuan.app.http, nonebot.drivers.httpx\n"
        "print(httpx.URL('http://x/y').path, {'rich', 'pygments'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[0] == "/y set()"
