"""Starts servers on free ports of the loopback, signs in to the gateway, and tells what each server has used."""

import contextlib
import functools
import http.client
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import machine
from costs import PASSWORD
from counted import Redis
from kinds import HERE, KINDS, Kind
from loads import Target

TICK = os.sysconf("SC_CLK_TCK")
# How many users are signed in; their tokens take turns. An address may sign in 50 at once.
USERS = 40
# costs.PASSWORD by bcrypt at its least cost: signing in is not what is measured.
PASSWORD_HASH = "$2b$04$benchbenchbenchbenchbuBKHQpLh4S3ug03.oLzjAsha8eCyS/TO"
FILES = {"64KiB": 2**16, "1MiB": 2**20, "10MiB": 10 * 2**20, "100MiB": 100 * 2**20}
# The tokens for servers that know none, as long as the gateway's; nginx with Redis finds sessions for them.
TOKENS = tuple(f"sps_bench{number:05}{'A' * 50}" for number in range(USERS))


class Bench:
    """What all servers of a run share: the binary, a folder, a certificate, the cores."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, cores: list[int]):
        self.binary = binary.resolve()
        self.folder = folder
        # A server has the first core to itself, and all else the second, if there are two.
        pins = [["taskset", "-c", str(core)] for core in cores]
        self.server_core, self.load_core = pins if len(pins) == 2 else ([], [])
        self.certificate, self.key, self.bundle = (folder / name for name in ["cert.pem", "key.pem", "bundle.pem"])
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        files = ["-keyout", self.key, "-out", self.certificate]
        command = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "30", *subject, *files]
        subprocess.run(command, check=True, capture_output=True)
        self.bundle.write_text(self.certificate.read_text() + self.key.read_text())
        self.secret = folder / "secret"
        self.secret.write_text("0123456789abcdef" * 4 + "\n")
        self.secret.chmod(0o600)
        self.tokens = folder / "tokens"
        self.tokens.write_text("".join(f'"Bearer {token}" u-{number:06};\n' for number, token in enumerate(TOKENS)))

    @functools.cached_property
    def files(self) -> pathlib.Path:
        folder = self.folder / "files"
        folder.mkdir()
        for name, size in FILES.items():
            (folder / name).write_bytes(b"x" * size)
        return folder


class Server:
    """A server that runs."""

    def __init__(self, name: str, command: list, target: Target, folder: pathlib.Path, variables: dict[str, str]):
        self.name, self.target, self.folder, self.tokens = name, target, folder, TOKENS
        with open(folder / "output.log", "wb") as log:
            self.process = subprocess.Popen(
                list(map(str, command)), stdout=log, stderr=log, env=os.environ | variables, cwd=folder
            )

    def await_port(self):
        for _ in range(1600):
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.target.port), 1).close()
                return
            time.sleep(0.05)
        errors = [file.read_text(errors="replace") for file in self.folder.glob("*.log")]
        sys.exit(f"{self.name} does not start: {' '.join(errors)}")

    def pids(self) -> list[int]:
        """Its process and the children of it, as nginx has them."""
        pids = [self.process.pid]
        for pid in pids:
            with contextlib.suppress(OSError):
                pids += map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return pids

    def cpu(self) -> float:
        """The seconds that it has computed, in user and system mode, in steps of a clock tick (10 ms)."""
        ticks = 0
        for pid in self.pids():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICK

    def memory(self) -> float:
        """Its memory in MiB; what processes share is counted once."""
        lines = [line for pid in self.pids() for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024

    def stop(self):
        children = self.pids()[1:]
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            for pid in [*children, self.process.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def running(
    bench: Bench, name: str, beside: dict[str, int], settings: str = "", is_logging: bool = False, is_signing_in: bool = True
):
    """Starts a server in a folder of its own, signs the users in if it is the gateway, and stops it in the end.

    - beside: the ports of what it uses, by names in its configuration (APP, REDIS), and how many PROCESSES it has
    - settings: for the gateway, beside those that every configuration of it has
    """
    kind = KINDS[name]
    with tempfile.TemporaryDirectory(dir=bench.folder, prefix=f"{name}-") as path:
        folder = pathlib.Path(path)
        # nginx's worker has another user than who starts it.
        folder.chmod(0o777)
        target = Target(*free_ports(3))
        ports = {"PORT": target.port, "TLS_PORT": target.tls_port, "CHECKS": target.checks}
        values = places(bench, kind, folder, settings, is_logging) | ports | beside
        if kind.file:
            (folder / kind.file).write_text(filled((HERE / "servers" / kind.file).read_text(), values))
        core = bench.load_core if kind.is_helper else bench.server_core
        variables = {variable: filled(value, values) for variable, value in kind.variables}
        server = Server(name, [*core, *kind.command(values)], target, folder, variables)
        try:
            server.await_port()
            if name == "sallyport" and is_signing_in:
                server.tokens = sign_in(server, bench)
            yield server
        finally:
            server.stop()


def places(bench: Bench, kind: Kind, folder: pathlib.Path, settings: str, is_logging: bool) -> dict:
    """What the places of a configuration (@NAME@) stand for, but for the ports."""
    return {
        "BINARY": bench.binary,
        "FOLDER": folder,
        "FILE": folder / kind.file,
        # These may have places themselves, so they come before what these stand for.
        "SETTINGS": settings,
        "UPSTREAM": "several" if "{several:" in settings else "http://127.0.0.1:@APP@",
        "LOG": kind.log if is_logging else kind.no_log,
        "FILES": bench.files if kind.file == "app.conf" else "",
        "BODY": "x" * 1024,
        "PROCESSES": 1,
        # Each has a file for the client and one for the app.
        "CONNECTIONS": min(10_100, machine.file_limit() // 2 - 100),
        "CERTIFICATE": bench.certificate,
        "KEY": bench.key,
        "BUNDLE": bench.bundle,
        "SECRET": bench.secret,
        "TOKENS": bench.tokens,
        "USERS": ", ".join(map(user, range(USERS))),
    }


def user(number: int) -> str:
    """A user of the gateway's static provider, as it stands in the settings."""
    traits = f"{{email: u-{number:06}@example.com, name: Ada Lovelace, groups: [staff, dev], tenant: t-42}}"
    return f'{{identifier: u-{number:06}, id: u-{number:06}, password_hash: "{PASSWORD_HASH}", traits: {traits}}}'


def filled(text: str, values: dict) -> str:
    for name in ["SETTINGS", "LOG", *values]:
        text = text.replace(f"@{name}@", str(values[name]))
    return text


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]


def sign_in(gateway: Server, bench: Bench) -> tuple[str, ...]:
    """The tokens of new sessions."""
    context = ssl.create_default_context(cafile=str(bench.certificate))
    # One connection for all, because an address may begin only 20 handshakes a second.
    connection = http.client.HTTPSConnection("localhost", gateway.target.tls_port, context=context)

    def call(method: str, path: str, fields: dict | None = None) -> dict:
        connection.request(method, path, json.dumps(fields), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        return json.loads(body) if answer.status == 200 else sys.exit(f"no sign-in: {answer.status} {body}")

    tokens = []
    for number in range(USERS):
        flow = call("GET", "/self-service/login/api")["id"]
        password = {"method": "password", "identifier": f"u-{number:06}", "password": PASSWORD}
        tokens.append(call("POST", f"/self-service/login?flow={flow}", password)["session_token"])
    connection.close()
    return tuple(tokens)


def seed(port: int):
    """Writes the sessions that nginx with Redis finds for TOKENS."""
    commands = []
    for number, token in enumerate(TOKENS):
        subject = f"u-{number:06}"
        session = {"subject": subject, "email": f"{subject}@example.com", "groups": ["staff", "dev"], "tenant": "t-42"}
        commands.append(["SET", f"bench:{token}", json.dumps(session | {"expires": 2_000_000_000})])
    with contextlib.closing(Redis(port)) as redis:
        redis.ask_all(commands)
