"""`/image/{id}`: a file by a signed link. The address is the key, for an hour, to that file and nothing else."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from qingtuan.channels.http.ports import Ports
from qingtuan.channels.http.problems import NOTHING_THERE, Declined
from qingtuan.channels.http.routes import Prepared, described
from qingtuan.errors import NotThere
from qingtuan.media.kinds import VIEWABLE

_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
_FILE = {"schema": {"type": "string", "format": "binary"}}


def image_routes(ports: Ports) -> APIRouter:
    """The route."""
    router = APIRouter(route_class=Prepared)
    answers = described(404)
    answers[200]["content"] = dict.fromkeys([*sorted(VIEWABLE), "application/octet-stream"], _FILE)

    @router.get("/image/{id}", summary="A file, by its signed link", responses=answers)
    async def image(
        link: Annotated[str, Path(alias="id", description="As links have it; good for an hour.")],
    ) -> Response:
        try:
            data, media_type = await asyncio.to_thread(ports.file, link)
        except NotThere:
            raise Declined(NOTHING_THERE) from None
        # Whatever is no picture is to be kept by the browser, and never shown: it may be a page with a script.
        shown = media_type in VIEWABLE
        headers = {
            "content-security-policy": _POLICY,
            "content-disposition": "inline" if shown else "attachment",
            "cache-control": "private, max-age=3600",
            "cross-origin-resource-policy": "cross-origin",
            "referrer-policy": "no-referrer",
        }
        return Response(data, headers=headers, media_type=media_type if shown else "application/octet-stream")

    return router
