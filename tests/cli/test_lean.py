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


def test_the_ciphers_of_wechat_come_with_the_first_file() -> None:
    code = (
        "import sys; from qingtuan.cli.lean import leave_out; leave_out()\n"
        "from nonebot.adapters.wxclaw.bot import aes_ecb_decrypt, aes_ecb_encrypt, calculate_ciphertext_size\n"
        "print('cryptography' in sys.modules)\n"
        "sealed = aes_ecb_encrypt(b'a picture', key=b'k' * 16)\n"
        "from nonebot.adapters.wxclaw import cdn\n"
        "print(len(sealed) == calculate_ciphertext_size(9), aes_ecb_decrypt(sealed, b'k' * 16), cdn.PKCS7.__name__)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["False", "True b'a picture' PKCS7"]


def test_protocols_of_programs_come_with_the_first_request() -> None:
    code = (
        "import sys; from qingtuan.cli.lean import leave_out; leave_out()\n"
        "import qingtuan.app.channels, qingtuan.app.mcp_server, qingtuan.cli.jobs, qingtuan.cli.serve\n"
        "print({'mcp', 'mcp_types', 'sse_starlette'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[0] == "set()"


def test_onebot_comes_without_the_version_that_nobody_speaks_and_uvicorn_without_its_reloader() -> None:
    code = (
        "import sys; from qingtuan.cli.lean import leave_out; leave_out()\n"
        "import uvicorn, qingtuan.channels.onebot.adapter\n"
        "from nonebot.adapters.onebot.v11 import Adapter, MessageSegment\n"
        "server = uvicorn.Server(uvicorn.Config(lambda scope: None))\n"
        "print(MessageSegment.text('好'), Adapter.get_name(), server.started)\n"
        "print({'msgpack', 'nonebot.adapters.onebot.v12.event', 'multiprocessing.connection'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == ["好 OneBot V11 False", "set()"]


def test_what_reads_answers_and_backups_and_runs_code_comes_when_it_is_needed() -> None:
    code = (
        "import sys, qingtuan.cli.serve, qingtuan.cli.restarting\n"
        "import qingtuan.app.channels, qingtuan.channels.text.wechat\n"
        "late = {'markdown_it', 'tarfile', 'qingtuan.capabilities.sandbox.deno', 'mcp', 'a2a', 'numpy', 'deno'}\n"
        "print(late & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[0] == "set()"
