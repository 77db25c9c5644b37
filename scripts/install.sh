#!/bin/sh
# Makes .venv and puts into it what the lock files name, then the product itself, from this folder.
#
#   sh scripts/install.sh run    what the product needs
#   sh scripts/install.sh dev    that, and the tools for tests and checks
#
# Does nothing when nothing changed since the last time. Speaks on standard error only.
set -eu
cd "$(dirname "$0")/.."
kind=$1
python=.venv/bin/python
stamp=.venv/.installed-$kind
wanted=$({ pwd; cat pyproject.toml servers/*/pyproject.toml requirements*.lock 2>/dev/null || true; } | cksum)

[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && [ -x "$python" ] && exit 0

say() { printf '%s\n' "$*" >&2; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_uv() { uv --version >/dev/null 2>&1; }

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
install() {
    if has_uv && uv pip install --quiet --python "$python" "$@" >&2; then
        return
    fi
    "$python" -m pip --version >/dev/null 2>&1 || "$python" -m ensurepip >/dev/null
    "$python" -m pip install --quiet --disable-pip-version-check "$@" >&2
}

# Scripts of an environment hold its path: one that was moved or copied is made anew.
if [ -f .venv/.path ] && [ "$(cat .venv/.path)" != "$(pwd)" ]; then
    rm -rf .venv
fi
new_enough "$python" || make_venv
pwd >.venv/.path

say "正在安装，第一次约一分钟…… Installing; the first time takes about a minute."
if [ "$kind" = dev ]; then
    install --require-hashes -r requirements-dev.lock
else
    install --require-hashes -r requirements.lock
fi
if ! install --require-hashes -r requirements-local.lock; then
    say "这台机器装不了内置小模型，其他功能照常；请设置一个模型服务，例如 OPENAI_API_KEY。"
    say "The embedded model cannot be installed here; all else works. Set a model service, such as OPENAI_API_KEY."
fi
for project in . servers/*; do
    [ -f "$project/pyproject.toml" ] && install --no-deps --no-build-isolation -e "$project"
done

printf '%s\n' "$wanted" >"$stamp"
[ "$kind" = run ] || cp "$stamp" .venv/.installed-run
