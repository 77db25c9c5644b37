"""The command `qingtuan-library-seats`."""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import re
import sqlite3
import sys
from collections.abc import Coroutine, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from qingtuan_library_seats import __version__

if TYPE_CHECKING:
    from qingtuan_library_seats.desk import Desk

_EPILOG = """\
环境变量 environment:
  LIBRARY_URL       图书馆网站的地址，例如 http://127.0.0.1:8765
  LIBRARY_USER      图书馆的用户名
  LIBRARY_PASSWORD  图书馆的密码
  LIBRARY_DRIVER    哪家图书馆的驱动，默认 demo

退出码 exit codes: 0 正常结束 · 1 出错 · 2 用法不对

例 examples:
  qingtuan-library-seats demo-site --port 8765     打开演示图书馆（用户名和密码都是 demo）
  qingtuan-library-seats                           给 MCP 客户端用（标准输入输出）
  qingtuan-library-seats --http 8770               同上，走 http://127.0.0.1:8770/mcp
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    asked = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    # httpx2 names every address at INFO, mcp every call.
    for noisy in ("httpx2", "mcp", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if asked.command == "demo-site":
        return _run(_demo_site(asked))
    return _run(_serve_http(asked.http) if asked.http is not None else _serve_stdio())


def _run(work: Coroutine[None, None, None]) -> int:
    try:
        asyncio.run(work)
    except OSError as error:
        why = "端口已经有程序在用，也许是它自己" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        sys.stderr.write(f"这个地址打不开：{why}。换一个端口再试，mcp.json 里的地址也跟着改。\n")
    except sqlite3.Error as error:
        sys.stderr.write(f"--data 指的文件不能用：{error}。换一个路径，不要用别的程序的数据库。\n")
    else:
        return 0
    return 1


async def _serve_stdio() -> None:
    from qingtuan_library_seats.server import build_server
    from qingtuan_library_seats.serving import until_stopped

    desk = _desk()
    serving = asyncio.create_task(build_server(desk).run_stdio_async())
    stopped = asyncio.create_task(until_stopped())
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    await desk.close()
    # A thread still waits for a line on standard input, and both the loop and the interpreter would wait for it.
    os._exit(0)


async def _serve_http(port: int) -> None:
    from qingtuan_library_seats.server import build_server
    from qingtuan_library_seats.serving import address_of, listen, serving, until_stopped

    desk = _desk()
    try:
        # The SDK refuses other hosts and origins when it serves this machine alone.
        app = build_server(desk).streamable_http_app(host="127.0.0.1")
        sock = listen("127.0.0.1", port)
        async with serving(app, sock):
            _say(f"{address_of(sock)}/mcp")
            await until_stopped()
    finally:
        await desk.close()


def _desk() -> Desk:
    from qingtuan_library_seats.desk import Desk
    from qingtuan_library_seats.drivers import make_driver
    from qingtuan_library_seats.settings import read_settings

    return Desk(lambda: make_driver(read_settings(os.environ)))


async def _demo_site(asked: argparse.Namespace) -> None:
    from qingtuan_library_seats.demo_site.running import Options, running
    from qingtuan_library_seats.serving import until_stopped

    options = Options(
        host=asked.host,
        port=asked.port,
        data=asked.data,
        accounts={"demo": "demo", **dict(asked.account)},
        now=asked.now,
        session_minutes=asked.session_minutes,
        captcha=asked.captcha,
        fail_rate=asked.fail_rate,
        seed=asked.seed,
        slow=asked.slow,
        admin_token=asked.admin_token,
    )
    async with running(options) as address:
        _say(address)
        await until_stopped()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qingtuan-library-seats",
        description="查询和预约图书馆座位的 MCP 服务，带一个演示图书馆。"
        "An MCP server that looks up and books library seats, with a demo library.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"qingtuan-library-seats {__version__}")
    parser.add_argument(
        "--http", type=_port, metavar="PORT",
        help="在 127.0.0.1 的这个端口上走 streamable HTTP，而不是标准输入输出；0 自动选一个 (serve over HTTP)",
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    site = commands.add_parser(
        "demo-site",
        help="打开演示图书馆的网站 (start the demo library)",
        description="演示图书馆：一个小网站，每天 08:00–22:00 开放，可以登录、查座位、预约、取消、签到。"
        "标准输出只有一行：它的地址。Ctrl-C 关闭。",
        allow_abbrev=False,
    )
    _add_site_options(site)
    return parser


def _add_site_options(site: argparse.ArgumentParser) -> None:
    add = site.add_argument
    add("--port", type=_port, default=8765, help="端口，默认 8765；0 自动选一个空的")
    add("--host", default="127.0.0.1", help="地址，默认 127.0.0.1（只有本机能打开）")
    add("--data", type=Path, metavar="FILE", help="把预约存在这个 SQLite 文件里，重启还在；不填只放在内存里")
    add("--account", type=_account, action="append", default=[], metavar="USER:PASSWORD",
        help="再加一个读者，可以写多次；demo:demo 总是有的")  # fmt: skip
    add("--now", type=_moment, metavar="ISO", help="图书馆的时钟从这一刻走起，例如 2026-12-01T09:00；不填就是本机时间")
    add("--session-minutes", type=_count, default=120, metavar="N", help="登录多少分钟不动就失效，默认 120")
    add("--captcha", action="store_true", help="每位读者登录后要输一次验证码")
    add("--slow", type=_seconds, default=0.0, metavar="SECONDS", help="每一页都慢这么多秒")
    add("--fail-rate", type=_share, default=0.0, metavar="P", help="有多少页会出错或断开，0 到 1，默认 0")
    add("--seed", type=int, metavar="N", help="随机出错的种子：同样的种子，同样地出错")
    add("--admin-token", metavar="T", help="打开给测试用的 /admin/ 接口，请求要带 Authorization: Bearer T")


def _port(text: str) -> int:
    if re.fullmatch(r"\d{1,5}", text, re.ASCII) and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"端口是 0 到 65535 的整数，不是 {text!r}")


def _count(text: str) -> int:
    if re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII):
        return int(text)
    raise argparse.ArgumentTypeError(f"要写一个从 1 起的整数，不是 {text!r}")


def _share(text: str) -> float:
    if re.fullmatch(r"0(\.\d+)?|1(\.0+)?", text, re.ASCII):
        return float(text)
    raise argparse.ArgumentTypeError(f"要写 0 到 1 之间的数，例如 0.3，不是 {text!r}")


def _seconds(text: str) -> float:
    if re.fullmatch(r"\d{1,4}(\.\d+)?", text, re.ASCII):
        return float(text)
    raise argparse.ArgumentTypeError(f"要写秒数，例如 0.5，不是 {text!r}")


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise argparse.ArgumentTypeError(f"要写成 2026-12-01T09:00 这样，不是 {text!r}") from None


def _account(text: str) -> tuple[str, str]:
    user, _, password = text.partition(":")
    if user and password:
        return user, password
    raise argparse.ArgumentTypeError("要写成 用户名:密码 这样")
