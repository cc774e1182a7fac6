"""An event store in memory, and a guard for a window in which the SDK would lose events."""

from contextvars import ContextVar
from uuid import uuid4

import anyio
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCMessage
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Resume:
    """One GET with a cursor, from its arrival until its stream is live again or it is over."""

    def __init__(self) -> None:
        self.priming: EventId | None = None
        self.live = anyio.Event()


current_resume: ContextVar[Resume | None] = ContextVar("current_resume", default=None)


class MemoryEventStore(EventStore):
    """Keeps every event, under ids that say nothing about their order, as most stores' ids do."""

    def __init__(self) -> None:
        self._events: dict[StreamId, list[tuple[EventId, JSONRPCMessage | None]]] = {}
        self._places: dict[EventId, tuple[StreamId, int]] = {}
        self._resumes: dict[StreamId, Resume] = {}

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        if message is not None:
            await self._until_live(stream_id)
        event_id = uuid4().hex
        events = self._events.setdefault(stream_id, [])
        self._places[event_id] = (stream_id, len(events))
        events.append((event_id, message))
        if message is None and (resume := current_resume.get()):
            resume.priming = event_id
            self._resumes[stream_id] = resume
        return event_id

    async def _until_live(self, stream_id: StreamId) -> None:
        # In a loop, and not waiting for one that is set: any await may let the next resume in.
        while (resume := self._resumes.get(stream_id)) and not resume.live.is_set():
            await resume.live.wait()

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        if last_event_id not in self._places:
            return None
        stream_id, place = self._places[last_event_id]
        events = self._events[stream_id]
        # Events may be stored while others are sent: the list is asked again each time, and after the last answer
        # nothing is awaited until the caller mints the priming event.
        while (place := place + 1) < len(events):
            event_id, message = events[place]
            if message is not None:
                await send_callback(EventMessage(message, event_id))
        return stream_id


class HoldEventsWhileResuming:
    """Middleware. The SDK (2.3.0) lists a resumed stream as live only once its priming event was handed over; what a
    tool sends between the replay and then is stored, but sent neither by the replay nor live, and the ids that
    follow pass over it. So the store makes such an event wait until the stream is listed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        resume = Resume()
        token = current_resume.set(resume)

        async def watch(message: Message) -> None:
            await send(message)
            if resume.priming and resume.priming.encode() in message.get("body", b""):
                # The sender of the priming event was woken when it was taken; one turn later it has listed the stream.
                await anyio.sleep(0)
                resume.live.set()

        try:
            await self.app(scope, receive, watch)
        finally:
            resume.live.set()
            current_resume.reset(token)
