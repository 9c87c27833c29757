"""Clients of TLS that no library is: python tls_attacks.py PORT. Prints a line for each case, `ok` or what was wrong.

Each case is followed by an honest request, which must be answered.
"""
import os
import socket
import struct
import sys

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import KeyUpdateMessageType
from tlslite.extensions import PaddingExtension, TLSExtension
from tlslite.messages import ApplicationData, ClientHello

PORT = int(sys.argv[1])
REQUEST = b"GET /x HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % PORT


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=15)


def settings(version):
    chosen = HandshakeSettings()
    chosen.minVersion = chosen.maxVersion = version
    return chosen


def shake(sock, version=(3, 4), **options):
    connection = TLSConnection(sock)
    for name, value in options.items():
        setattr(connection, name, value)
    connection.handshakeClientCert(serverName="localhost", settings=settings(version))
    return connection


def answer(connection):
    connection.write(REQUEST)
    text = bytearray()
    while True:
        piece = connection.read(max=65536, min=1)
        if not piece:
            return bytes(text)
        text += piece


def honest():
    text = answer(shake(connect()))
    assert text.startswith(b"HTTP/1.1 200"), text[:100]


def is_closed(sock):
    """Whether the gateway ends the connection; what it still sends is read."""
    try:
        while True:
            if not sock.recv(65536):
                return True
    except ConnectionError:
        return True
    except socket.timeout:
        return False


class Dribble:
    """A socket that sends each byte by itself."""

    def __init__(self, sock):
        self.sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        for byte in data:
            self.sock.sendall(bytes([byte]))
        return len(data)

    def sendall(self, data):
        self.send(data)

    def __getattr__(self, name):
        return getattr(self.sock, name)


def record(kind, content, version=(3, 3)):
    return bytes([kind, *version]) + struct.pack(">H", len(content)) + content


def hello(extensions=()):
    """The bytes of a client's first message."""
    sent = bytearray()

    class Stop(Exception):
        pass

    class Recorder:
        def send(self, data):
            sent.extend(data)
            return len(data)

        sendall = send

        def recv(self, count):
            raise Stop

        def __getattr__(self, name):
            return lambda *_: None

    create = ClientHello.create

    def extended(self, *args, **kwargs):
        made = create(self, *args, **kwargs)
        for extension in extensions:
            made.extensions.insert(0, extension)
        return made

    ClientHello.create = extended
    try:
        shake(Recorder())
    except Stop:
        pass
    finally:
        ClientHello.create = create
    return bytes(sent)


def refuses(*pieces):
    """The gateway ends a connection on which these bytes were sent."""
    sock = connect()
    try:
        for piece in pieces:
            sock.sendall(piece)
    except ConnectionError:
        return
    assert is_closed(sock), "the connection is open"


def one_byte_records(version):
    # Each of the client's messages, and the request, in records of one byte.
    text = answer(shake(connect(), version, recordSize=1))
    assert text.startswith(b"HTTP/1.1 200"), text[:100]


def one_byte_segments(version):
    text = answer(shake(Dribble(connect()), version))
    assert text.startswith(b"HTTP/1.1 200"), text[:100]


def oversized_hello():
    message = hello([PaddingExtension().create(20_000)])
    refuses(message)


def long_message_announced():
    refuses(record(22, b"\x01\xff\xff\xff" + bytes(100)))


def endless_records_of_one_byte():
    refuses(b"".join(record(22, bytes([byte])) for byte in b"\x01\x00\x3f\xff" + bytes(9000)))


def early_data():
    # What is sent before the handshake ends is never a request.
    sock = connect()
    sock.sendall(hello([TLSExtension(extType=42).create(42, bytearray())]))
    try:
        sock.sendall(record(23, REQUEST))
        sock.sendall(record(20, b"\x01"))
    except ConnectionError:
        return
    sock.settimeout(2)
    seen = bytearray()
    try:
        while piece := sock.recv(65536):
            seen += piece
    except (socket.timeout, ConnectionError):
        pass
    assert b"HTTP/1.1" not in seen, seen[:100]


def key_updates():
    connection = shake(connect())
    try:
        for _ in range(2000):
            for _ in connection.send_keyupdate_request(KeyUpdateMessageType.update_requested):
                pass
    except Exception:
        return
    assert is_closed(connection.sock), "the connection is open"


def empty_records(version):
    connection = shake(connect(), version)
    try:
        for _ in range(2000):
            for _ in connection._recordLayer.sendRecord(ApplicationData().create(bytearray())):
                pass
    except Exception:
        return
    assert is_closed(connection.sock), "the connection is open"


def warnings():
    refuses(hello(), record(21, b"\x01\x5a") * 50)


def cipher_changes():
    refuses(hello(), record(20, b"\x01") * 100)


def renegotiation():
    connection = shake(connect(), (3, 3))
    message = ClientHello().create((3, 3), bytearray(os.urandom(32)), bytearray(), [0xC02B])
    for _ in connection._sendMsg(message):
        pass
    connection.sock.settimeout(15)
    assert is_closed(connection.sock), "the connection is open"


CASES = [
    ("records of one byte, TLS 1.3", lambda: one_byte_records((3, 4))),
    ("records of one byte, TLS 1.2", lambda: one_byte_records((3, 3))),
    ("segments of one byte, TLS 1.3", lambda: one_byte_segments((3, 4))),
    ("segments of one byte, TLS 1.2", lambda: one_byte_segments((3, 3))),
    ("a first message of 20,000 bytes", oversized_hello),
    ("a first message that says it has 16 MiB", long_message_announced),
    ("an endless first message in records of one byte", endless_records_of_one_byte),
    ("early data", early_data),
    ("a flood of key updates", key_updates),
    ("a flood of empty records, TLS 1.3", lambda: empty_records((3, 4))),
    ("a flood of empty records, TLS 1.2", lambda: empty_records((3, 3))),
    ("a flood of warnings", warnings),
    ("a flood of cipher changes", cipher_changes),
    ("renegotiation", renegotiation),
    ("an empty record", lambda: refuses(record(22, b""), record(22, b""))),
    ("a record that is too long", lambda: refuses(record(22, b"\x01") + b"\x16\x03\x01\xff\xff" + bytes(65535))),
    ("another message first", lambda: refuses(record(22, b"\x02\x00\x00\x02\x03\x03"))),
    ("application data first", lambda: refuses(record(23, bytes(100)))),
    ("a damaged first message", lambda: refuses(record(22, b"\x01\x00\x00\x04\x03\x03\x00\x00"))),
    ("a hello of SSL 2", lambda: refuses(b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40))),
]

for name, case in CASES:
    try:
        case()
        honest()
        print(f"{name}: ok")
    except Exception as error:
        print(f"{name}: {type(error).__name__} {error}")
