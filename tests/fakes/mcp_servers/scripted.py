"""A server that says and does whatever a file tells it, read anew for each question: `scripted.py FOLDER`.

`FOLDER/says.json` holds `tools` as they are listed, `answers` by tool (a result, or `{"error": …}`), `info` (its name
and version), `before` (messages that go out ahead of each answer; `TOKEN` stands for the call's progress token),
`stderr` (a line at the start) and `dies` (tools in whose call it ends). Each call is a line of `FOLDER/calls.jsonl`.
`asks` holds questions by tool (the params of `elicitation/create`), put one after the other while it is called, by
requests of its own or, with `modern`, as the newest protocol has it; what it was answered is a line of
`FOLDER/heard.jsonl`. `resources` holds pages of resources, `templates` what else may be read, `contents` what is read
by address. The standard library alone, so that it starts at once.
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
    if isinstance(message.get("result"), dict) and says().get("modern"):
        message = {**message, "result": {"resultType": "complete", **message["result"]}}
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


def heard(answer: Any) -> None:
    with (FOLDER / "heard.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(answer) + "\n")


def ask(params: Message, number: int) -> None:
    """Put a question by a request of our own, and wait for the answer."""
    send({"id": f"ask-{number}", "method": "elicitation/create", "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == f"ask-{number}":
            heard(message.get("result", message.get("error")))
            return
        if message.get("method") == "notifications/cancelled":
            heard("cancelled")


def asked(params: Message) -> Message:
    """Ask what there is to ask for a call; the result that asks, as the newest protocol has it, or nothing."""
    questions = says().get("asks", {}).get(params["name"], ())
    if not says().get("modern"):
        for number, question in enumerate(questions):
            ask(question, number)
        return {}
    if not questions:
        return {}
    if "inputResponses" in params:
        heard({"responses": params["inputResponses"], "state": params.get("requestState")})
        if not says().get("insists"):
            return {}
    requests = {
        f"q{n}": question if "method" in question else {"method": "elicitation/create", "params": question}
        for n, question in enumerate(questions)
    }
    return {"result": {"resultType": "input_required", "inputRequests": requests, "requestState": "state-1"}}


def read(method: str, params: Message) -> Message:
    """An answer about resources."""
    script = says()
    if method == "resources/list":
        pages, place = script.get("resources", [[]]), int(params.get("cursor") or 0)
        more = {"nextCursor": str(place + 1)} if place + 1 < len(pages) or script.get("endless") else {}
        return {"result": {"resources": pages[place % len(pages)], **more, "ttlMs": 0, "cacheScope": "private"}}
    if method == "resources/templates/list":
        return {"result": {"resourceTemplates": script.get("templates", []), "ttlMs": 0, "cacheScope": "private"}}
    with (FOLDER / "calls.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"read": params["uri"]}) + "\n")
    found = script.get("contents", {}).get(params["uri"])
    if found is None:
        return {"error": {"code": -32002, "message": f"no resource {params['uri']}"}}
    return {"result": {"contents": found, "ttlMs": 0, "cacheScope": "private"}}


def capabilities() -> Message:
    more = {"resources": {"listChanged": True}} if "resources" in says() else {}
    return {"tools": {"listChanged": True}, **more}


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
            result = {"protocolVersion": "2025-11-25", "serverInfo": info, "capabilities": capabilities()}
            more = {"instructions": says()["instructions"]} if "instructions" in says() else {}
            send({"id": number, "result": {**result, **more}})
        elif method == "server/discover" and says().get("modern"):
            info = {"name": "scripted", "version": "1"}
            result = {"supportedVersions": ["2026-07-28"], "serverInfo": info, "capabilities": capabilities()}
            send({"id": number, "result": {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}})
        elif method == "tools/list":
            send({"id": number, "result": {"tools": says().get("tools", []), "ttlMs": 0, "cacheScope": "private"}})
        elif method.startswith("resources/"):
            send({"id": number, **read(method, message.get("params", {}))})
        elif method == "tools/call":
            if question := asked(message["params"]):
                send({"id": number, **question})
            elif answer := called(message["params"]):
                send({"id": number, **answer})
                for place, question in enumerate(says().get("asks_after", ())):
                    ask(question, 100 + place)
        elif number is not None and method:
            send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    main()
