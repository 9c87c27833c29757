"""A client of the gateways: one connection for each of them, answers read to their last byte."""

import contextlib
import dataclasses
import json
import socket
import time
import urllib.parse

NAVIGATION = {
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Site": "same-origin",
    "Accept": "text/html",
}
FORM = "application/x-www-form-urlencoded"


class Truncated(OSError):
    """The connection ended within an answer."""


@dataclasses.dataclass
class Answer:
    status: int
    fields: list[tuple[str, str]]
    body: bytes
    # How many seconds it took, from the request on.
    took: float = 0

    def field(self, name: str) -> str:
        return next((value for key, value in self.fields if key == name), "")

    def json(self) -> dict:
        return json.loads(self.body)

    def cookies(self) -> dict[str, str]:
        """The cookies that are set; those that are deleted have an empty value."""
        pairs = [value.split(";")[0].partition("=") for key, value in self.fields if key == "set-cookie"]
        return {name: value for name, _, value in pairs}

    def said(self) -> str:
        """What it says, without tokens: they stand in cookies and locations."""
        place = self.field("location").partition("?")[0]
        return f"{self.status} {place} {self.body[:300].decode(errors='replace') if self.status >= 400 else ''}".strip()


class Wire:
    """A connection from an address of the loopback."""

    def __init__(self, port: int, source: str, seconds: float = 20):
        self.socket = socket.create_connection(("127.0.0.1", port), seconds, (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = self.socket.makefile("rb")
        self.is_used = False

    def close(self):
        with contextlib.suppress(OSError):
            self.reader.close()
            self.socket.close()

    def send(self, data: bytes):
        self.socket.sendall(data)

    def line(self) -> bytes:
        line = self.reader.readline(65_536)
        if not line.endswith(b"\n"):
            raise Truncated(f"the answer ends in a line: {line[:40]!r}")
        return line.rstrip(b"\r\n")

    def exactly(self, size: int) -> bytes:
        body = self.reader.read(size)
        if len(body) < size:
            raise Truncated(f"{len(body)} of {size} bytes came")
        return body

    def head(self) -> Answer:
        while True:
            line = self.line()
            status, fields = int(line.split(b" ")[1]), []
            while line := self.line():
                name, _, value = line.decode("latin-1").partition(":")
                fields.append((name.lower(), value.strip()))
            if status >= 200 or status == 101:
                return Answer(status, fields, b"")

    def answer(self) -> Answer:
        answer = self.head()
        if "chunked" in answer.field("transfer-encoding"):
            pieces = []
            while size := int(self.line().partition(b";")[0], 16):
                pieces.append(self.exactly(size))
                self.line()
            while self.line():
                pass
            answer.body = b"".join(pieces)
        elif length := answer.field("content-length"):
            answer.body = self.exactly(int(length))
        elif answer.status not in (101, 204, 304):
            answer.body = self.reader.read()
        self.is_used = True
        return answer


def head(authority: str, method: str, target: str, fields: dict[str, str]) -> bytes:
    lines = [
        f"{method} {target} HTTP/1.1",
        f"Host: {authority}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Client:
    """A device: its address, its cookies, and its connections."""

    def __init__(self, authority: str, source: str, seconds: float = 20):
        self.authority, self.source, self.seconds = authority, source, seconds
        self.jar: dict[str, str] = {}
        self.wires: dict[int, Wire] = {}

    def close(self):
        for wire in self.wires.values():
            wire.close()
        self.wires = {}

    def ask(
        self, gateway, method: str, target: str, fields: dict | None = None, body: bytes | dict | None = None
    ) -> Answer:
        fields = dict(fields or {})
        if isinstance(body, dict):
            body = urllib.parse.urlencode(body).encode()
            fields |= {"Content-Type": FORM}
        if method not in ("GET", "HEAD"):
            fields.setdefault("Origin", f"http://{self.authority}")
            fields["Content-Length"] = str(len(body or b""))
        if self.jar and "Cookie" not in fields:
            fields["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        request = head(self.authority, method, target, fields) + (body or b"")
        wire = self.wires.pop(gateway.port, None)
        # A kept connection may have been closed meanwhile: what changes something goes out on a new one.
        if wire and method != "GET":
            wire.close()
            wire = None
        try:
            answer = self.exchange(wire, gateway, request)
        except (ConnectionError, Truncated):
            if wire is None:
                raise
            answer = self.exchange(None, gateway, request)
        for name, value in answer.cookies().items():
            if value:
                self.jar[name] = value
            else:
                self.jar.pop(name, None)
        return answer

    def exchange(self, wire: Wire | None, gateway, request: bytes) -> Answer:
        wire = wire or Wire(gateway.port, self.source, self.seconds)
        began = time.monotonic()
        try:
            wire.send(request)
            answer = wire.answer()
            answer.took = time.monotonic() - began
        except BaseException:
            wire.close()
            raise
        if answer.field("connection").lower() == "close":
            wire.close()
        else:
            self.wires[gateway.port] = wire
        return answer
