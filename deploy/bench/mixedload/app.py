#!/usr/bin/env python3
"""The app behind the gateways: app.py PORT

It says which user and request it was told, counts bodies, sends bodies that the client can foretell, and echoes frames.
"""

import base64
import hashlib
import json
import re
import socket
import sys
import threading

from content import content, digest

IDENTITY = ["x-auth-subject", "x-auth-email", "x-auth-origin", "x-nonce", "x-edition", "cookie", "authorization"]


class Connection:
    """A connection of a gateway: requests follow one another."""

    def __init__(self, connection: socket.socket):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection, self.received = connection, b""

    def run(self):
        try:
            while self.serve():
                pass
        except OSError:
            pass
        finally:
            self.connection.close()

    def more(self) -> bool:
        piece = self.connection.recv(65_536)
        self.received += piece
        return bool(piece)

    def line(self) -> bytes:
        while b"\r\n" not in self.received:
            if not self.more():
                raise OSError("the gateway left")
        line, _, self.received = self.received.partition(b"\r\n")
        return line

    def take(self, size: int) -> bytes:
        while len(self.received) < size:
            if not self.more():
                raise OSError("the gateway left")
        piece, self.received = self.received[:size], self.received[size:]
        return piece

    def serve(self) -> bool:
        while b"\r\n\r\n" not in self.received:
            if not self.more():
                return False
        head, _, self.received = self.received.partition(b"\r\n\r\n")
        request, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = request.split(" ")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if key := fields.get("sec-websocket-key"):
            self.echo(key, fields)
            return False
        body = self.body(fields)
        path = target.partition("?")[0]
        if found := re.fullmatch(r"/download/(\w+)/(\d+)", path):
            return self.answer(content(found[1], int(found[2])), "application/octet-stream")
        told = {name: fields[name] for name in IDENTITY if name in fields}
        told |= {"path": path, "method": method, "size": len(body), "digest": digest(body)}
        return self.answer(json.dumps(told).encode(), "application/json")

    def body(self, fields: dict[str, str]) -> bytes:
        if "chunked" in fields.get("transfer-encoding", ""):
            pieces = []
            while size := int(self.line().partition(b";")[0], 16):
                pieces.append(self.take(size))
                self.line()
            while self.line():
                pass
            return b"".join(pieces)
        return self.take(int(fields.get("content-length", 0)))

    def answer(self, body: bytes, kind: str) -> bool:
        self.connection.sendall(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        return True

    def echo(self, key: str, fields: dict[str, str]):
        """Sends frames back as they came; the handshake's answer names the user."""
        proof = base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        head += [f"Sec-WebSocket-Accept: {proof}", f"X-Told: {fields.get('x-auth-subject', '')}"]
        self.connection.sendall(("\r\n".join(head) + "\r\n\r\n").encode() + self.received)
        while piece := self.connection.recv(65_536):
            self.connection.sendall(piece)


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=512)
    while True:
        connection = Connection(listener.accept()[0])
        threading.Thread(target=connection.run, daemon=True).start()


if __name__ == "__main__":
    main()
