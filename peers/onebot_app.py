"""An application for QQ on aiocqhttp, run in an environment of its own: `python onebot_app.py PORT TOKEN`.

It writes what it hears as lines of JSON, and answers what it is asked to: `quick` by naming no action, `send` and
`info` by actions, `wrong` by one that does not exist.
"""

import json
import sys
from typing import Any

from aiocqhttp import ActionFailed, CQHttp, Message

bot = CQHttp(access_token=sys.argv[2], message_class=Message)


def tell(kind: str, **found: Any) -> None:
    print(json.dumps({"kind": kind, **found}, ensure_ascii=False), flush=True)


async def on_message(event: Any) -> Any:
    said = event.message.extract_plain_text().strip()
    segments = [[segment.type, dict(segment.data)] for segment in event.message]
    tell("message", type=event.detail_type, user=event.user_id, group=event.group_id, said=said, segments=segments)
    if said == "quick":
        return {"reply": "quick answer", "at_sender": True}
    if said == "send":
        tell("result", data=await bot.send(event, "sent by action [CQ:face,id=14]"))
    if said == "info":
        tell("result", data=await bot.get_login_info())
    if said == "wrong":
        try:
            await bot.call_action("send_foo")
        except ActionFailed as error:
            tell("failed", retcode=error.result["retcode"])
    return None


async def on_notice(event: Any) -> None:
    tell("notice", type=event.detail_type, sub_type=event.sub_type, message=event.message_id)


async def on_meta(event: Any) -> None:
    tell("meta", type=event.detail_type, sub_type=event.sub_type, status=event.get("status"))


async def on_request(event: Any) -> None:
    tell("request", type=event.detail_type, comment=event.comment)


bot.on_message(on_message)
bot.on_notice(on_notice)
bot.on_meta_event(on_meta)
bot.on_request(on_request)
bot.run(host="127.0.0.1", port=int(sys.argv[1]))
