"""What git and the other end said when another copy could not be used: as one sentence about what to do."""

from __future__ import annotations

import re

from qingtuan.errors import RemoteRefused
from qingtuan.language import Words
from qingtuan.storage.git_command import Result

_MOST = 2000
"""Characters of what was said that are kept for the owner."""


def last_words(result: Result) -> str:
    """What was said, without empty lines."""
    said = (result.out + b"\n" + result.err).decode("utf-8", "replace").strip()
    return "\n".join(line for line in said.splitlines() if line.strip())[-_MOST:]


def refused(result: Result) -> RemoteRefused:
    """The error for a command that failed. What was said is its detail: it may come from the other end."""
    said = last_words(result)
    for pattern, words in _REASONS:
        if re.search(pattern, said, re.IGNORECASE):
            return RemoteRefused(words, detail=said)
    return RemoteRefused(_UNKNOWN, detail=said)


_UNKNOWN = Words("远程没有照办。", "The remote did not do it.")
_REASONS: tuple[tuple[str, Words], ...] = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        Words(
            "远程主机的密钥变了，可能有人冒充：先弄清楚，再改 ~/.ssh/known_hosts。",
            "The host key of the remote has changed; somebody may pose as it. Find out first, then mend "
            "~/.ssh/known_hosts.",
        ),
    ),
    (
        r"Host key verification failed|host key is known",
        Words(
            "不认识远程主机：先在终端里 ssh 过去一次，核对它的密钥。",
            "The host of the remote is not known: ssh to it once in a terminal and check its key.",
        ),
    ),
    (
        r"Permission denied|Authentication failed|could not read (?:Username|Password)|error: 40[13]",
        Words(
            "远程不让进：检查 wiki.ssh_key，或 .env 里的 QINGTUAN_WIKI__TOKEN，以及它有没有这个仓库的权限。",
            "The remote does not let us in: see wiki.ssh_key, or QINGTUAN_WIKI__TOKEN in .env, and what they may do "
            "there.",
        ),
    ),
    (
        r"dubious ownership",
        Words(
            "远程文件夹是别的用户的，不碰它。请让它归运行小青团的用户，或改用 ssh。",
            "The folder of the remote belongs to another user and is left alone. Make it belong to the user who runs "
            "Qingtuan, or use ssh.",
        ),
    ),
    (
        r"certificate|SSL",
        Words(
            "远程的证书不可信。自己签的证书写进 wiki.ca_file。",
            "The certificate of the remote is not trusted. One that you signed yourself goes into wiki.ca_file.",
        ),
    ),
    (
        r"redirect|error: 30\d",
        Words(
            "远程换了地址，不跟着跳：把新地址写进 wiki.remote。",
            "The remote has moved, and redirects are not followed: write the new address into wiki.remote.",
        ),
    ),
    (
        r"fsck|bad (?:object|tree|blob|commit)|error: object|missing|corrupt|error in (?:tree|blob|commit)",
        Words("远程给的内容不完整或有问题，不收。", "What the remote gives is broken or unsound and is not taken."),
    ),
    (
        r"signal 25|File too large|No space left|invalid index-pack output",
        Words("远程给的东西太大，不收。", "What the remote gives is too large and is not taken."),
    ),
    (
        r"does not appear to be a git repository|invalid gitfile|not found|does not exist|No such file",
        Words(
            "那个地址没有仓库。先建一个空的：git init --bare 路径，或在网站上新建。",
            "There is no repository at that address. Make an empty one first: git init --bare PATH, or on the site.",
        ),
    ),
    (
        r"resolve host|Connection (?:refused|timed out|closed|reset)|unreachable|Failed to connect|no route"
        r"|Could not connect|Operation too slow",
        Words("连不上远程，请检查网络和地址。", "The remote cannot be reached; check the network and the address."),
    ),
)
