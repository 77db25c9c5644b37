"""What code in the sandbox can count on. A test walks every name here inside the sandbox."""

from __future__ import annotations

from qingtuan.language import Words

SHAPE = "export default async function (input) { … }"
"""What a module must have."""

PRESENT = (
    "fetch", "Headers", "Request", "Response", "URL", "URLSearchParams", "URLPattern", "TextEncoder", "TextDecoder",
    "atob", "btoa", "crypto.subtle", "crypto.randomUUID", "crypto.getRandomValues", "Intl", "Temporal",
    "structuredClone", "setTimeout", "setInterval", "queueMicrotask", "AbortController", "AbortSignal.timeout", "Blob",
    "FormData", "ReadableStream", "CompressionStream", "DecompressionStream", "WebAssembly", "console.log",
)  # fmt: skip
"""Besides the language itself."""

RUNTIME = Words(
    f"""\
一个 TypeScript（去掉类型，不检查类型）或 JavaScript 模块，要有 `{SHAPE}`；input 是核对过的参数，返回值必须是 JSON\
（值为 undefined 的属性会去掉；NaN、Infinity、BigInt、函数、Map、Set、二进制和循环引用不行）。
有：ECMAScript 2025 的全部，和 {"、".join(PRESENT)}。
fetch 只能访问 hosts 里写明的主机，http 或 https，一次调用最多 20 个请求，每个内容最多 1 MB，最多转 5 次，不带 Cookie。
没有：import 和 require、文件、环境变量、进程、WebSocket、上次调用留下的任何东西。
一次调用最多 10 秒、256 MB 内存，结果最多 256 KB。""",
    f"""\
A module in TypeScript (types are removed, not checked) or JavaScript with `{SHAPE}`; input holds the checked \
arguments, and the return value must be JSON (properties that are undefined are left out; NaN, Infinity, BigInt, \
functions, Map, Set, binary data and cycles are refused).
There are: all of ECMAScript 2025, and {", ".join(PRESENT)}.
fetch reaches the hosts that `hosts` names and no others, by http or https: at most 20 requests a call, 1 MB a body, 5 \
redirects, no cookies.
There are no: import or require, files, environment variables, processes, WebSocket, nor anything left from the last \
call.
A call may take 10 seconds and 256 MB of memory; its result 256 KB.""",
)
"""For whoever writes a module."""
