#!/usr/bin/env python3
"""WebSocket frames: an app that sends them back, and clients that send one, wait for its echo, and send the next.

    frames.py echo PORT
    frames.py drive PORT CONNECTIONS SECONDS HEAD

HEAD is a request without the fields of WebSocket and the empty line. `drive` prints one line of JSON: frames that came
back, and errors.
"""

import base64
import hashlib
import json
import re
import selectors
import socket
import sys
import time

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
UPGRADE = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
]
# A text of 16 bytes, masked with zeroes.
FRAME = bytes([0x81, 0x90, 0, 0, 0, 0]) + b"sixteen bytes of"


def read_head(connection: socket.socket) -> bytes:
    """The bytes up to the empty line; empty when the connection ends before it."""
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        piece = connection.recv(65_536)
        if not piece:
            return b""
        received += piece
    return received


def without_delay(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def echo(port: int):
    """Serves for ever."""
    poll = selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    poll.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in poll.select():
            if key.fileobj is listener:
                poll.register(without_delay(listener.accept()[0]), selectors.EVENT_READ, "opening")
            elif not serve(poll, key):
                poll.unregister(key.fileobj)
                key.fileobj.close()


def serve(poll: selectors.BaseSelector, key: selectors.SelectorKey) -> bool:
    """Takes what has come on a connection; whether it stays open."""
    try:
        if key.data == "opening":
            return open_frames(poll, key.fileobj)
        frames = key.fileobj.recv(65_536)
        key.fileobj.sendall(frames)
        return bool(frames)
    except OSError:
        # The load has ended.
        return False


def open_frames(poll: selectors.BaseSelector, connection: socket.socket) -> bool:
    """Answers the upgrade; any other request gets its user, as the app of the other tables answers /told."""
    head = read_head(connection)
    if key := re.search(rb"(?i)\r\nsec-websocket-key: (\S+)", head):
        proof = base64.b64encode(hashlib.sha1(key[1] + GUID).digest())
        fields = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + proof
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n" + fields + b"\r\n\r\n")
        poll.modify(connection, selectors.EVENT_READ, "frames")
        return True
    user = re.search(rb"(?i)\r\nx-user-id: (\S+)", head)
    told = b"user=" + (user[1] if user else b"")
    if head:
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(told) + told)
    return False


def drive(port: int, count: int, seconds: float, head: str) -> dict[str, int]:
    poll = selectors.DefaultSelector()
    request = "\r\n".join([head.rstrip("\r\n"), *UPGRADE]).encode() + b"\r\n\r\n"
    frames = errors = 0
    for _ in range(count):
        connection = without_delay(socket.create_connection(("127.0.0.1", port), 10))
        connection.sendall(request)
        if not read_head(connection).startswith(b"HTTP/1.1 101 "):
            errors += 1
            continue
        connection.sendall(FRAME)
        poll.register(connection, selectors.EVENT_READ)
    end = time.monotonic() + seconds
    while time.monotonic() < end and poll.get_map():
        for key, _ in poll.select(1):
            # A frame of 22 bytes comes in one piece on the loopback.
            if key.fileobj.recv(65_536) == FRAME:
                frames += 1
                key.fileobj.sendall(FRAME)
            else:
                errors += 1
                poll.unregister(key.fileobj)
    return {"requests": frames, "errors": errors}


def main() -> int:
    match sys.argv[1:]:
        case ["echo", port]:
            echo(int(port))
        case ["drive", port, count, seconds, head]:
            print(json.dumps(drive(int(port), int(count), float(seconds), head)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
