"""A relay in front of Redis, which sees each command and each answer, and can hold the answers back for a while."""

import asyncio
import collections
import contextlib
import dataclasses
import threading


@dataclasses.dataclass
class Seen:
    """What went by, without what no call causes."""

    commands: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    sent: int = 0
    received: int = 0


class Relay:
    def __init__(self, redis_port: int, unrelated: set[str]):
        self.redis_port, self.unrelated = redis_port, unrelated
        # For how many seconds answers are held back.
        self.delay = 0.0
        self.seen = Seen()
        # For how long each answer was held back in fact.
        self.held: list[float] = []
        started = threading.Event()

        async def serve():
            self.loop = asyncio.get_running_loop()
            server = await asyncio.start_server(self.connected, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            await server.serve_forever()

        threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
        started.wait()

    def take(self) -> Seen:
        """What went by since the last time."""
        taken, self.seen = self.seen, Seen()
        return taken

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        redis_reader, redis_writer = await asyncio.open_connection("127.0.0.1", self.redis_port)
        asked = collections.deque()

        def command(words: bytes):
            name = words.split(b"\r\n")[2].decode().lower()
            asked.append(name in self.unrelated)
            if not asked[-1]:
                self.seen.commands[name] += 1
                self.seen.sent += len(words)

        def answer(value: bytes):
            # What is followed is told unasked.
            if asked and not asked.popleft():
                self.seen.received += len(value)

        last = 0.0

        def later(chunk: bytes):
            nonlocal last
            # None overtakes another.
            last = max(last + 1e-6, self.loop.time() + self.delay)
            self.loop.call_at(last, write_late, chunk, self.loop.time(), self.delay)

        def write_late(chunk: bytes, came: float, delay: float):
            if delay:
                self.held.append(self.loop.time() - came)
            writer.write(chunk)

        ways = [self.pass_on(reader, redis_writer.write, command), self.pass_on(redis_reader, later, answer)]
        await asyncio.wait(map(asyncio.ensure_future, ways), return_when=asyncio.FIRST_COMPLETED)
        redis_writer.close()
        writer.close()

    async def pass_on(self, reader: asyncio.StreamReader, write, note):
        buffer = b""
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(65_536):
                buffer += chunk
                while (end := end_of_value(buffer, 0)) is not None:
                    note(buffer[:end])
                    buffer = buffer[end:]
                write(chunk)


def end_of_value(buffer: bytes, start: int) -> int | None:
    """Where the value of Redis's protocol ends that begins at `start`; None: not all of it is there."""
    line = buffer.find(b"\r\n", start)
    if line < 0:
        return None
    kind, end = buffer[start : start + 1], line + 2
    if kind not in b"$*":
        return end
    count = int(buffer[start + 1 : line])
    if kind == b"$" and count >= 0:
        end += count + 2
        return end if end <= len(buffer) else None
    for _ in range(count):
        if (end := end_of_value(buffer, end)) is None:
            return None
    return end
