"""A server that says and does whatever a file tells it, read anew for each question: `scripted.py FOLDER`.

`FOLDER/says.json` holds `tools` as they are listed, `answers` by tool (a result, or `{"error": …}`), `info` (its name
and version), `before` (messages that go out ahead of each answer; `TOKEN` stands for the call's progress token),
`stderr` (a line at the start) and `dies` (tools in whose call it ends). Each call is a line of `FOLDER/calls.jsonl`.
The standard library alone, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
Message = dict[str, Any]


def says() -> Message:
    found: Message = json.loads((FOLDER / "says.json").read_text("utf-8"))
    return found


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def called(params: Message) -> Message:
    """The answer to a call, as a result or an error; none where the server keeps silent."""
    with (FOLDER / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"name": params["name"], "arguments": params.get("arguments", {})}) + "\n")
    script = says()
    token = params.get("_meta", {}).get("progressToken", 0)
    for message in script.get("before", ()):
        send(json.loads(json.dumps(message).replace('"TOKEN"', json.dumps(token))))
    if params["name"] in script.get("dies", ()):
        os._exit(1)
    done = {"content": [{"type": "text", "text": f"did {params['name']}"}]}
    answer = script.get("answers", {}).get(params["name"], done)
    if answer is None:
        return {}
    return {"error": answer["error"]} if "error" in answer else {"result": answer}


def main() -> None:
    if words := says().get("stderr"):
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()
    if says().get("exits"):
        sys.exit(1)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method", ""), message.get("id")
        if method == "initialize":
            info = {"name": "scripted", "version": "1", **says().get("info", {})}
            capabilities = {"tools": {"listChanged": True}}
            result = {"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": capabilities}
            more = {"instructions": says()["instructions"]} if "instructions" in says() else {}
            send({"id": number, "result": {**result, **more}})
        elif method == "tools/list":
            send({"id": number, "result": {"tools": says().get("tools", [])}})
        elif method == "tools/call":
            if answer := called(message["params"]):
                send({"id": number, **answer})
        elif number is not None and method:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
