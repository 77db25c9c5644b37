#!/bin/sh
# Makes .venv and puts into it what the lock files name, then the product and the servers, from this folder.
#
#   sh scripts/install.sh run    what the product needs
#   sh scripts/install.sh dev    that, and the tools for tests and checks
#
# Does nothing when nothing changed since the last time. Of two that run at once, the second waits for the first. An
# environment that was left half made is made anew. Speaks on standard error only.
set -eu
cd "$(dirname "$0")/.."
kind=$1
python=.venv/bin/python
stamp=.venv/.installed-$kind
half_made=.venv/.half-made
without_model=.venv/.without-model

say() { printf '%s\n' "$*" >&2; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_uv() { uv --version >/dev/null 2>&1; }

# What the stamp has to say. Where the embedded model could not be had, another day is another try.
wanted() {
    {
        pwd
        cat pyproject.toml servers/*/pyproject.toml requirements*.lock
        [ ! -f "$without_model" ] || date +%F
    } | cksum
}
up_to_date() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(wanted)" ] && [ -x "$python" ]; }

# Holds until the last process of this script has ended, however it ends. The lock lies on this very file: it is there,
# and nothing needs to be cleaned up. Python has flock everywhere, the shell's command is missing on macOS.
lock() {
    exec 9<scripts/install.sh
    for tool in python3 "$python"; do
        "$tool" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)' 2>/dev/null && return
        "$tool" -c 'import fcntl' 2>/dev/null || continue
        say "另一个安装正在进行，等它结束…… Another installation is running; waiting for it."
        "$tool" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)' 2>/dev/null || true
        return
    done
}

make_venv() {
    if has_uv; then
        uv venv --quiet --allow-existing --python '>=3.11' .venv >&2 && return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        new_enough "$candidate" || continue
        if ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            say "$candidate 缺少 venv，请先装上：sudo apt install python3-venv"
            say "$candidate has no venv module. Install it first: sudo apt install python3-venv"
            exit 1
        fi
        "$candidate" -m venv .venv >&2
        return
    done
    say "需要 Python 3.11 或更新的版本；现在是 $(python3 --version 2>&1 || true)。"
    say "Python 3.11 or newer is needed; this is $(python3 --version 2>&1 || true)."
    exit 1
}

# With uv if it works; pip knows mirrors and certificates that people set for it and uv does not read.
with_uv=yes
install() {
    if [ $with_uv = yes ] && has_uv; then
        uv pip install --quiet --python "$python" "$@" >&2 && return
        with_uv=no
        say "uv 没有装成，改用 pip…… uv could not install it; trying pip."
    fi
    "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null
    "$python" -m pip install --quiet --disable-pip-version-check "$@" >&2
}

needed() {
    install "$@" && return
    say "安装没有完成，原因见上面；改好后再运行一次就接着装。"
    say "The installation is not complete; the reason is above. Run this again once that is mended."
    rm -f "$half_made"
    exit 1
}

up_to_date && exit 0
lock
up_to_date && exit 0

# Scripts of an environment hold its path: one that was moved or copied is made anew. So is one whose installation was
# killed, since it may hold half a package; one that failed is whole as far as it goes.
if [ -f "$half_made" ] || { [ -f .venv/.path ] && [ "$(cat .venv/.path)" != "$(pwd)" ]; }; then
    rm -rf .venv
fi
mkdir -p .venv
rm -f .venv/.installed-*
pwd >.venv/.path
: >"$half_made"
if ! new_enough "$python"; then
    make_venv
fi

say "正在安装，第一次约一分钟…… Installing; the first time takes about a minute."
case $kind in
dev) needed --require-hashes -r requirements-dev.lock ;;
*)
    needed --require-hashes -r requirements.lock
    needed --require-hashes -r requirements-documents.lock
    needed --require-hashes -r requirements-a2a.lock
    ;;
esac
rm -f "$without_model"
if ! install --require-hashes -r requirements-local.lock; then
    : >"$without_model"
    say "这里装不了内置小模型，其他功能照常；请设置一个模型服务，例如 OPENAI_API_KEY。"
    say "The embedded model cannot be installed here; all else works. Set a model service, such as OPENAI_API_KEY."
fi
if [ "$kind" = run ] && ! install --require-hashes -r requirements-sandbox.lock; then
    say "这里装不了沙箱（Deno），自己写的工具用不了，其他功能照常。"
    say "The sandbox (Deno) cannot be installed here; self-made tools do not work, all else does."
fi
for project in . servers/*; do
    if [ -f "$project/pyproject.toml" ]; then
        needed --no-deps --no-build-isolation -e "$project"
    fi
done

wanted >"$stamp"
[ "$kind" = run ] || cp "$stamp" .venv/.installed-run
rm -f "$half_made"
