#!/usr/bin/env python3
"""Counts what a request costs the gateway, and compares it with deploy/costs.txt:

    deploy/costs.py [--binary PATH] [--update] [SHAPE ...]

The counts are those of the process itself: instructions, system calls, allocations, and retains and releases of Swift's
objects. No time is measured: valgrind counts, and requests follow one another on one connection, so every run gives the
same but for a few per thousand, on any machine. Exit status 1: a cost is above the table's, which is a regression, or so
far below it that the table should say so. --update writes the table. valgrind and binutils are Debian's packages.
"""

import argparse
import base64
import collections
import contextlib
import hashlib
import json
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "deploy/costs.txt"
PASSWORD = "analytical-engine"
WARM_UP, REQUESTS = 300, 1000
BODY = b"x" * 1024
# A cost may be above the table's by this share and this number, as timers add a little to costs below one; and below it by
# this share.
TOLERANCE, SLACK, SURPLUS = 0.03, 0.1, 0.10

# A function is counted by the calls of it. Retains of strings and arrays come to swift_retain in the end.
CALLS = {
    "allocations": {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"},
    "retains": {"swift_retain", "swift_retain_n"},
    "releases": {"swift_release", "swift_release_n"},
}
COSTS = ["instructions", "system_calls", *CALLS]

FOUR_HEADERS = """
identity:
  headers:
    X-User-Id: subject
    X-User-Email: identity.traits.email
    X-User-Groups: identity.traits.groups
    X-Tenant-Id: identity.traits.tenant
log: {access: false}
"""
DEFAULTS = "log: {access: true}\n"
# One connection carries all requests of a shape.
PROXIED = "# The second address takes the PROXY protocol.\n"
TLS = FOUR_HEADERS + "tls: {certificate_file: own.pem, key_file: own.key}\nlimits: {requests_per_connection: 1000000}\n"
# What is recorded is sent to a collector, by the process that is counted.
TRACES = FOUR_HEADERS + """telemetry:
  endpoint: "http://127.0.0.1:{collector}"
  sampler: parentbased_traceidratio
  ratio: """
SERVERS = FOUR_HEADERS + 'upstreams: {several: {servers: ["http://127.0.0.1:{app}", "http://127.0.0.1:{other}"]}}\n'
CHECKS = FOUR_HEADERS + 'authorization: {listen: "127.0.0.1:{checks}", peers: [127.0.0.1/32]}\n'


class App:
    """Answers each request with 1 KiB, and sends back what comes after an upgrade."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection: socket.socket):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while head := read_head(connection):
            if key := re.search(rb"(?i)\r\nsec-websocket-key: (\S+)", head):
                proof = hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
                fields = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + base64.b64encode(proof)
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\n" + fields + b"\r\n\r\n")
                while frames := connection.recv(65_536):
                    connection.sendall(frames)
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\n\r\n" + BODY)


class Collector(App):
    """Takes all traces."""

    def __init__(self):
        self.has_taken = threading.Event()
        super().__init__()

    def serve(self, connection: socket.socket):
        received = b""
        while piece := connection.recv(65_536):
            received += piece
            head, end, body = received.partition(b"\r\n\r\n")
            if end and len(body) >= int(re.search(rb"(?i)\r\ncontent-length: (\d+)", head)[1]):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                received = b""
                self.has_taken.set()


class Gateway:
    """A gateway under valgrind, with one event loop and a user who is signed in."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, app: App, settings: str):
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
            self.port, self.checks, self.secure = [server.getsockname()[1] for server in servers]
        listen = f"127.0.0.1:{self.port}"
        if "tls:" in settings:
            make_certificate(folder)
            listen = f'[{{address: "{listen}", tls: false}}, "127.0.0.1:{self.secure}"]'
        if PROXIED in settings:
            proxied = f'{{address: "127.0.0.1:{self.secure}", proxy_protocol: {{from: [127.0.0.1]}}}}'
            listen = f'["{listen}", {proxied}]'
        self.collector = Collector() if "{collector}" in settings else None
        collector = self.collector.port if self.collector else 0
        other = App().port if "{other}" in settings else 0
        upstream = "several" if other else f"http://127.0.0.1:{app.port}"
        for name, port in {"checks": self.checks, "collector": collector, "app": app.port, "other": other}.items():
            settings = settings.replace(f"{{{name}}}", str(port))
        self.authority = f"localhost:{self.port}"
        password = subprocess.run([binary, "hash-password"], input=PASSWORD, capture_output=True, text=True, check=True)
        traits = "{email: ada@example.com, name: Ada Lovelace, groups: [staff, dev], tenant: t-42}"
        file = folder / "sallyport.yaml"
        file.write_text(
            f"""
public_url: http://{self.authority}
upstream: {upstream}
listen: {listen}
admin: {{listen: "127.0.0.1:0"}}
event_loops: 1
drain: {{delay: 0s, timeout: 1s}}
provider:
  static:
    users: [{{identifier: ada, id: u-000001, password_hash: "{password.stdout.strip()}", traits: {traits}}}]
routes: [{{path: /**}}, {{path: /public/**, auth: public}}]
clients: [{{client_id: app}}]
{settings}"""
        )
        self.counts, self.trace = folder / "callgrind.out", folder / "valgrind.log"
        options = ["--instr-atstart=no", f"--callgrind-out-file={self.counts}", "--trace-syscalls=yes"]
        self.process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", *options, f"--log-file={self.trace}", binary, "run", "--config", file],
            stdout=subprocess.DEVNULL,
        )
        self.calls = 0
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                break
            time.sleep(0.1)
        else:
            sys.exit("the gateway does not start under valgrind")
        self.token = self.sign_in()

    def sign_in(self) -> str:
        def call(path, fields=None):
            body = None if fields is None else json.dumps(fields).encode()
            request = urllib.request.Request(f"http://{self.authority}{path}", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)

        flow = call("/self-service/login/api")["id"]
        password = {"method": "password", "identifier": "ada", "password": PASSWORD}
        return call(f"/self-service/login?flow={flow}", password)["session_token"]

    def count(self, on: bool):
        state = "on" if on else "off"
        command = ["callgrind_control", "-i", state, str(self.process.pid)]
        subprocess.run(command, capture_output=True, check=True)
        # Valgrind has no vDSO, so asking for the time is a system call only here.
        calls = len(re.findall(r"SYSCALL\[\d+,\d+\]\( *\d+\) sys_(?!clock_gettime)", self.trace.read_text(errors="replace")))
        self.calls = calls - self.calls

    def stop(self) -> dict[str, float]:
        """Ends the gateway; what it did while it was counted."""
        self.process.terminate()
        self.process.wait()
        text = self.counts.read_text(errors="replace")
        costs = {"instructions": int(re.search(r"^totals: (\d+)", text, re.MULTILINE)[1])}
        costs["system_calls"] = self.calls
        names, called, calls = {}, "", collections.Counter()
        # A name stands where it is used for the first time, and later its number alone.
        for callee, number, name, times in re.findall(r"^(?:(c?)fn=\((\d+)\)(?: (.*))?|calls=(\d+) .*)$", text, re.MULTILINE):
            if times:
                calls[called] += int(times)
                continue
            if name:
                names[number] = name.partition("'")[0]
            if callee:
                called = names[number]
        return costs | {cost: sum(calls[name] for name in functions) for cost, functions in CALLS.items()}


def make_certificate(folder: pathlib.Path):
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "own.key"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2", "-out", folder / "own.pem"]
    subprocess.run(["openssl", "req", "-x509", *key, *names], capture_output=True, check=True)
    (folder / "own.key").chmod(0o600)


def read_head(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        piece = connection.recv(65_536)
        if not piece:
            return b""
        received += piece
    return received


def connect(gateway: Gateway, port: int | None = None, source: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port or gateway.port), 60, (source, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class SecureClient:
    """Connects with TLS 1.3, and keeps the ticket of the last connection."""

    def __init__(self, gateway: Gateway, protocol: str):
        self.gateway, self.ticket, self.count = gateway, None, 0
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.set_alpn_protocols([protocol])

    def connect(self) -> ssl.SSLSocket:
        # Each address may begin few handshakes a second.
        self.count += 1
        raw = connect(self.gateway, self.gateway.secure, f"127.0.0.{1 + self.count % 250}")
        return self.context.wrap_socket(raw, server_hostname="localhost", session=self.ticket)


def head(gateway: Gateway, path: str, *fields: str) -> bytes:
    agent = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
    lines = [f"GET {path} HTTP/1.1", f"Host: {gateway.authority}", agent, "Accept: */*", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def exchange(connection: socket.socket, request: bytes):
    connection.sendall(request)
    received = b""
    while not received.endswith(BODY):
        received += connection.recv(65_536) or sys.exit(f"the gateway closed: {received}")
    if not received.startswith(b"HTTP/1.1 200 "):
        sys.exit(f"not 200: {received}")


def bearer(gateway: Gateway) -> str:
    return f"Authorization: Bearer {gateway.token}"


def cached(gateway: Gateway):
    connection, request = connect(gateway), head(gateway, "/api/items/1", bearer(gateway))
    return lambda: exchange(connection, request)


def public(gateway: Gateway):
    connection, request = connect(gateway), head(gateway, "/public/items/1")
    return lambda: exchange(connection, request)


def check(gateway: Gateway):
    """A check by another proxy of the same request as in `cached`."""
    original = ["Method: GET", "Proto: http", f"Host: {gateway.authority}", "Uri: /api/items/1", "For: 127.0.0.1"]
    fields = [f"X-Forwarded-{field}" for field in original]
    request = head(gateway, "/authz/forward-auth", bearer(gateway), *fields)
    connection = connect(gateway, gateway.checks)

    def ask():
        connection.sendall(request)
        if not (answer := read_head(connection)).startswith(b"HTTP/1.1 200 ") or b"\r\nX-User-Id: u-" not in answer:
            sys.exit(f"not allowed: {answer}")

    return ask


def new_connection(gateway: Gateway):
    request = head(gateway, "/api/items/1", bearer(gateway))

    def ask():
        with connect(gateway) as connection:
            exchange(connection, request)

    return ask


def proxied_connection(gateway: Gateway):
    """The connection and request of `new_connection` behind a header of version 2, as HAProxy writes it with TLS."""
    request = head(gateway, "/api/items/1", bearer(gateway))

    def value(kind: int, content: bytes) -> bytes:
        return struct.pack(">BH", kind, len(content)) + content

    tls = value(0x20, b"\x01\0\0\0\0" + value(0x21, b"TLSv1.3") + value(0x23, b"TLS_AES_128_GCM_SHA256"))
    rest = value(0x02, b"localhost") + value(0x05, b"0123456789abcdef") + tls
    addresses = socket.inet_aton("198.51.100.7") + socket.inet_aton("127.0.0.1") + struct.pack(">HH", 40_000, 443)
    preamble = b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H", len(addresses + rest)) + addresses + rest

    def ask():
        with connect(gateway, gateway.secure) as connection:
            exchange(connection, preamble + request)

    return ask


def secure(gateway: Gateway):
    """The request of `cached` over TLS."""
    connection = SecureClient(gateway, "http/1.1").connect()
    request = head(gateway, "/api/items/1", bearer(gateway))
    return lambda: exchange(connection, request)


def handshake(gateway: Gateway, resumes: bool):
    client, request = SecureClient(gateway, "http/1.1"), head(gateway, "/api/items/1", bearer(gateway))

    def ask():
        with client.connect() as connection:
            if connection.session_reused != (client.ticket is not None):
                sys.exit("the session was not resumed")
            exchange(connection, request)
            if resumes:
                client.ticket = connection.session

    return ask


def http2(gateway: Gateway, streams: int):
    """The request of `cached`, so many times at once on one connection of HTTP/2."""
    connection = SecureClient(gateway, "h2").connect()

    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    # Windows as large as may be, as browsers have them. The fields stand in the table behind the first request.
    settings = frame(4, 0, 0, struct.pack(">HI", 4, 2**31 - 1)) + frame(8, 0, 0, struct.pack(">I", 2**31 - 2**16))
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
    agent, name = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", bearer(gateway).partition(": ")[2]
    fields = {0x44: "/api/items/1", 0x41: gateway.authority, 0x7A: agent, 0x53: "*/*", 0x57: name}
    block = b"\x82\x87" + b"".join(bytes([index, len(value)]) + value.encode() for index, value in fields.items())
    later = b"\x82\x87" + bytes(0x80 + 62 + index for index in reversed(range(len(fields))))
    state = {"block": block, "stream": 1}
    received = bytearray()

    def ask():
        nonlocal received
        frames = b""
        for _ in range(streams):
            frames += frame(1, 5, state["stream"], state["block"])
            state["stream"], state["block"] = state["stream"] + 2, later
        connection.sendall(frames)
        ended = 0
        while ended < streams:
            while len(received) < 9 or len(received) < 9 + int.from_bytes(received[:3], "big"):
                received += connection.recv(65_536) or sys.exit("the gateway closed")
            end = 9 + int.from_bytes(received[:3], "big")
            kind, flags, payload = received[3], received[4], received[9:end]
            if kind in (3, 7) or kind == 1 and b"\x88" not in payload[:4] or kind == 0 and payload != BODY:
                sys.exit(f"not 200: {received[:end]}")
            ended += flags & 1 if kind < 2 else 0
            del received[:end]

    return ask


def websocket(gateway: Gateway):
    connection = connect(gateway)
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    connection.sendall(head(gateway, "/ws", bearer(gateway), *upgrade, key))
    if not (answer := read_head(connection)).startswith(b"HTTP/1.1 101 "):
        sys.exit(f"not 101: {answer}")
    # A text of 16 bytes, masked with zeroes.
    frame = bytes([0x81, 0x90, 0, 0, 0, 0]) + b"sixteen bytes of"

    def ask():
        connection.sendall(frame)
        received = b""
        while len(received) < len(frame):
            received += connection.recv(65_536) or sys.exit("the gateway closed")

    return ask


# The shapes of load, by the names in the table: settings, what makes one request or sends one frame, and how many at once.
SHAPES = {
    "cached_session": (FOUR_HEADERS, cached),
    "public_route": (FOUR_HEADERS, public),
    "two_servers": (SERVERS, cached),
    "defaults_and_log": (DEFAULTS, cached),
    "traces_ratio_0": (TRACES + "0\n", cached),
    "traces_1_percent": (TRACES + "0.01\n", cached),
    "traces_on": (TRACES + "1\n", cached),
    "check": (CHECKS, check),
    "new_connection": (FOUR_HEADERS, new_connection),
    # The header itself is read in 1700 instructions; the rest is what the log says of it, and the client's place at the gate.
    "proxied_connection": (FOUR_HEADERS + PROXIED, proxied_connection),
    "websocket_frame": (FOUR_HEADERS, websocket),
    "tls_request": (TLS, secure),
    "tls_connection": (TLS, lambda gateway: handshake(gateway, resumes=False)),
    "tls_resumed": (TLS, lambda gateway: handshake(gateway, resumes=True)),
    "http2_request": (TLS, lambda gateway: http2(gateway, 1)),
    "http2_10_streams": (TLS, lambda gateway: http2(gateway, 10), 10),
}


def measure(binary: pathlib.Path, shape: str) -> dict[str, float]:
    settings, client, count = (*SHAPES[shape], 1)[:3]
    with tempfile.TemporaryDirectory() as folder:
        # Valgrind does not read the debug information of Swift.
        stripped = pathlib.Path(folder, "sallyport")
        subprocess.run(["objcopy", "--strip-debug", binary, stripped], check=True)
        gateway = Gateway(stripped, pathlib.Path(folder), App(), settings)
        try:
            ask = client(gateway)
            for _ in range(WARM_UP):
                ask()
            # The first batch takes millions of instructions, once.
            while gateway.collector and "ratio: 0\n" not in settings and not gateway.collector.has_taken.wait(0.01):
                ask()
            gateway.count(True)
            for _ in range(REQUESTS):
                ask()
            gateway.count(False)
        finally:
            costs = gateway.stop()
    return {cost: costs[cost] / REQUESTS / count for cost in COSTS}


def read_table() -> dict[str, dict[str, float]]:
    lines = [line.split() for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return {shape: dict(zip(lines[0][1:], map(float, values))) for shape, *values in lines[1:]}


def write_table(costs: dict[str, dict[str, float]]):
    rows = [["shape", *COSTS]]
    for shape in costs:
        rows.append([shape] + [f"{costs[shape][cost]:.{0 if cost == 'instructions' else 2}f}" for cost in COSTS])
    lines = [f"{row[0]:18}" + "".join(f"{value:>14}" for value in row[1:]) for row in rows]
    note = "# What one request, or one frame and its echo, may cost the gateway: deploy/costs.py compares, and --update writes this."
    TABLE.write_text("\n".join([note, *lines]) + "\n")


def verdicts(shape: str, costs: dict[str, float], allowed: dict[str, float]):
    for cost, value in costs.items():
        limit = allowed[cost]
        difference = f"{shape}: {value:,.2f} {cost}, {value / max(limit, SLACK) - 1:+.1%} of {limit:,.2f}"
        if value > limit * (1 + TOLERANCE) + SLACK:
            yield f"{difference}: a regression"
        elif value < limit * (1 - SURPLUS) - SLACK:
            yield f"{difference}: lower the table with deploy/costs.py --update {shape}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/release/sallyport")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(SHAPES))
    arguments = parser.parse_args()
    if unknown := set(arguments.shapes) - set(SHAPES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    table = read_table() if TABLE.exists() else {}
    wrong = []
    for shape in arguments.shapes or SHAPES:
        costs = measure(arguments.binary, shape)
        print(f"{shape}: " + ", ".join(f"{cost} {value:,.2f}" for cost, value in costs.items()), flush=True)
        if arguments.update:
            table[shape] = costs
        elif shape in table:
            wrong += verdicts(shape, costs, table[shape])
        else:
            wrong.append(f"{shape} is not in the table: deploy/costs.py --update {shape}")
    if arguments.update:
        write_table({shape: table[shape] for shape in SHAPES if shape in table})
    for verdict in wrong:
        print(verdict, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
