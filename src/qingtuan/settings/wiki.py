"""Settings of the wiki's copy elsewhere."""

from __future__ import annotations

from typing import Annotated

from pydantic import SecretStr

from qingtuan.language import Words
from qingtuan.settings.fields import Count, Example, Section


class Wiki(Section):
    """The copy of the pages elsewhere: where it is, and how to get in."""

    remote: Annotated[
        str | None,
        Example('"git@git.example.com:me/wiki.git"'),
        Words(
            "页面的另一份：别处的 git 仓库，/路径、ssh 或 https。",
            "A copy of the pages: a git repository elsewhere, by path, ssh or https.",
        ),
    ] = None
    trusted: Annotated[
        bool,
        Words(
            "从那里拿来的算你自己改的；false 就先等你点头。",
            "What comes from there counts as your own edits; false waits for your word.",
        ),
    ] = False
    ssh_key: Annotated[
        str | None,
        Example('"~/.ssh/wiki"'),
        Words("ssh 用的私钥文件，不带密码短语。", "For ssh: the file of a private key without a passphrase."),
    ] = None
    token: Annotated[SecretStr | None, Words("https 用的令牌。", "For https: a token.")] = None
    ca_file: Annotated[
        str | None,
        Example('"/etc/ssl/my-ca.pem"'),
        Words(
            "https 只信这个文件里的证书；不设就信系统的。",
            "For https: trust these certificates alone, not the system's.",
        ),
    ] = None
    sync_minutes: Annotated[
        Count,
        Words(
            "一直运行时每隔几分钟拿一次、推一次；0 是不自动。",
            "While it keeps running, pull and push every so many minutes; 0 does not by itself.",
        ),
    ] = 0
