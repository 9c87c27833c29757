"""What runs: two gateways over a Redis with a replica and three sentinels, two servers of an app, an OpenID provider."""

import collections
import contextlib
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import provider
from counted import Redis
from servers import PASSWORD_HASH, free_ports

HERE = pathlib.Path(__file__).resolve().parent
# What questions to a server that ends at the same time may raise.
GONE = (OSError, ValueError, KeyError, IndexError, http.client.HTTPException)
USERS = 60
LOCAL = [f"local-{number:03}" for number in range(USERS)]
# Users of the provider, by the names that stand in `sub`; apps see them behind the name of their provider.
COMPANY = [f"person-{number:03}" for number in range(USERS)]
CALLBACK = "com.example.app:/callback"
RETURN = "com.example.app:/signed-in"
NAME = "mixed"
SETTINGS = """
upstream: app
listen: 127.0.0.1:@PORT@
admin: {listen: "127.0.0.1:@ADMIN@"}
secret_file: secret
event_loops: 2
drain: {delay: 1s, timeout: 6s}
# Small, so that the caches are full within minutes and memory can be flat.
store: {cached_sessions: @CACHED@, redis: {url: "redis+sentinel://@SENTINELS@/mixed", require_appendonly: true}}
session: {transfer: {idle: 12h, absolute: 12h}}
upstreams: {app: {servers: ["http://127.0.0.1:@APP1@", "http://127.0.0.1:@APP2@"], max_connections: 100}}
providers:
  - name: local
    static: {users: [@USERS@]}
  - name: company
    essential: false
    oidc: {issuer: "http://127.0.0.1:@PROVIDER@", client_id: gateway, client_secret_file: client-secret}
hosts:
  - public_url: http://localhost:@ORIGIN@
    endpoints: true
    providers: [local, company]
    routes:
      - {path: /api/**, name: api, response_headers: {set: {X-Edition: "@EDITION@"}}}
      - {path: /public/**, auth: public}
      - {path: /**, client: web, response_headers: {set: {X-Edition: "@EDITION@"}}}
clients:
  - client_id: app
    app_type: native
    callbacks: ["com.example.app:/callback"]
    session_transfer: {can_create_session_transfer_token: true}
  - client_id: web
    session_transfer: {allowed_authentication_methods: [cookie, query], enforce_device_binding: ip}
apis: [{audience: "https://api.example.com", routes: [api]}]
exchange: {return_to: ["com.example.app:/signed-in"]}
"""


class Process:
    """A server that is started again on the same port."""

    def __init__(self, rig: "Rig", name: str, port: int, command: list):
        self.rig, self.name, self.port, self.command = rig, name, port, list(map(str, command))
        self.folder = rig.folder / name
        self.folder.mkdir()
        self.process: subprocess.Popen | None = None

    def start(self, *more):
        with open(self.folder / "output.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.command, *map(str, more)], cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )

    def await_port(self, seconds: float = 20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self.name} does not start")

    def signal(self, number: int):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()


class Gateway(Process):
    """A gateway, and what it logs: lines of access are kept in a file of their own."""

    def __init__(self, rig: "Rig", name: str, port: int, admin: int):
        super().__init__(rig, name, port, [rig.binary, "run", "--config", "sallyport.yaml", "--insecure-static-users"])
        self.admin = admin
        # When it was asked to end, so that an exit at another time is known for a crash.
        self.may_be_gone = False
        self.started = 0.0

    def write(self, **changes):
        (self.folder / "secret").write_text("0123456789abcdef" * 4 + "\n")
        (self.folder / "secret").chmod(0o600)
        (self.folder / "client-secret").write_text(provider.SECRET)
        (self.folder / "client-secret").chmod(0o600)
        values = self.rig.values | {"PORT": self.port, "ADMIN": self.admin} | changes
        text = SETTINGS
        for key, value in values.items():
            text = text.replace(f"@{key}@", str(value))
        (self.folder / "sallyport.yaml").write_text(text)

    def start(self):
        self.process = subprocess.Popen(
            self.command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        self.started, self.may_be_gone = time.monotonic(), False
        threading.Thread(target=self.read, args=(self.process,), daemon=True).start()

    def read(self, process: subprocess.Popen):
        with open(self.folder / "output.log", "ab", 0) as log, open(self.folder / "access.log", "ab") as access:
            for line in process.stdout:
                (access if line.startswith(b'{"stream":"access"') else log).write(line)
                self.rig.judge_line(self, line)

    def ready(self) -> bool:
        with contextlib.suppress(*GONE):
            return urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/readyz", timeout=2).status == 200
        return False

    def metrics(self) -> dict[str, float]:
        with contextlib.suppress(*GONE):
            text = urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=3).read().decode()
            lines = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
            return {name: float(value) for name, _, value in lines}
        return {}

    def figures(self) -> dict[str, float]:
        """What the system says of the process."""
        with contextlib.suppress(*GONE):
            proc = pathlib.Path(f"/proc/{self.process.pid}")
            status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line)
            rollup = dict(line.split(":", 1) for line in (proc / "smaps_rollup").read_text().splitlines()[1:])
            ticks = (proc / "stat").read_text().rpartition(")")[2].split()
            return {
                "rss_kib": int(status["VmRSS"].split()[0]),
                "anonymous_kib": int(rollup["Anonymous"].split()[0]),
                "threads": int(status["Threads"]),
                "descriptors": len(list((proc / "fd").iterdir())),
                "cpu": (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"),
            }
        return {}


class Rig:
    def __init__(self, binary: pathlib.Path, folder: pathlib.Path, judge_line, cached: int = 1000):
        self.binary, self.folder, self.judge_line = binary.resolve(), folder, judge_line
        ports = free_ports(12)
        a, b, admin_a, admin_b, app1, app2, identity, *stores = ports
        self.origin = f"http://localhost:{a}"
        self.authority = f"localhost:{a}"
        key = folder / "provider.key"
        made = subprocess.run(["openssl", "genrsa", "-traditional", "2048"], check=True, capture_output=True).stdout
        text = subprocess.run(["openssl", "rsa", "-text", "-noout"], input=made, check=True, capture_output=True).stdout
        key.write_bytes(text)
        self.nodes = [self.node(f"redis-{index}", port) for index, port in enumerate(stores[:2])]
        self.sentinels = [self.sentinel(f"sentinel-{index}", port) for index, port in enumerate(stores[2:])]
        python = [sys.executable, "-B"]
        self.apps = [Process(self, f"app-{port}", port, [*python, HERE / "app.py", port]) for port in [app1, app2]]
        self.provider = Process(self, "provider", identity, [*python, HERE / "provider.py", identity, key])
        users = [
            f'{{identifier: {name}, id: {name}, password_hash: "{PASSWORD_HASH}", '
            f"traits: {{email: {name}@example.com}}}}"
            for name in LOCAL
        ]
        self.values = {
            "ORIGIN": a,
            "APP1": app1,
            "APP2": app2,
            "PROVIDER": identity,
            "USERS": ", ".join(users),
            "EDITION": 1,
            "CACHED": cached,
            "SENTINELS": ",".join(f"127.0.0.1:{node.port}" for node in self.sentinels),
        }
        self.gateways = [Gateway(self, "gateway-a", a, admin_a), Gateway(self, "gateway-b", b, admin_b)]
        self.edition = {gateway.name: 1 for gateway in self.gateways}

    def node(self, name: str, port: int) -> Process:
        options = [
            "--bind",
            "127.0.0.1",
            "--port",
            port,
            "--appendonly",
            "yes",
            "--save",
            "",
            "--maxmemory-policy",
            "noeviction",
        ]
        options += ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]
        return Process(self, name, port, ["redis-server", *options])

    def sentinel(self, name: str, port: int) -> Process:
        made = Process(self, name, port, [shutil.which("redis-server"), "sentinel.conf", "--sentinel"])
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"sentinel monitor {NAME} 127.0.0.1 {self.nodes[0].port} 2",
            f"sentinel down-after-milliseconds {NAME} 2500",
            f"sentinel failover-timeout {NAME} 6000",
        ]
        (made.folder / "sentinel.conf").write_text("\n".join(lines) + "\n")
        return made

    def start(self):
        for node in self.nodes:
            node.start(*([] if node is self.nodes[0] else ["--replicaof", "127.0.0.1", self.nodes[0].port]))
            node.await_port()
        self.until("a replica", lambda: self.in_step())
        for sentinel in self.sentinels:
            sentinel.start()
            sentinel.await_port()
        self.until(
            "sentinels that know each other",
            lambda: all("slaves=1,sentinels=3" in self.says(node) for node in self.sentinels),
        )
        for process in [*self.apps, self.provider]:
            process.start()
            process.await_port()
        for gateway in self.gateways:
            gateway.write()
            gateway.start()
            gateway.await_port()
        self.until("gateways that are ready", self.ready)

    def stop(self):
        for gateway in self.gateways:
            gateway.may_be_gone = True
        for process in [*self.gateways, self.provider, *self.apps, *self.sentinels, *self.nodes]:
            process.stop()

    @staticmethod
    def until(what: str, holds, seconds: float = 60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(*GONE, TypeError, StopIteration):
                if holds():
                    return
            time.sleep(0.2)
        raise RuntimeError(f"not within {seconds:.0f} s: {what}")

    @staticmethod
    def ask(process: Process, *words):
        with contextlib.closing(Redis(process.port)) as redis:
            redis.connection.settimeout(3)
            return redis.ask(*map(str, words))

    def says(self, sentinel: Process) -> str:
        return self.ask(sentinel, "INFO", "sentinel")

    def primary(self) -> Process:
        """The node that most sentinels name."""
        names = collections.Counter()
        for sentinel in self.sentinels:
            with contextlib.suppress(OSError):
                names[int(self.ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)[1])] += 1
        port, votes = names.most_common(1)[0]
        if votes < 2:
            raise ValueError("no primary")
        return next(node for node in self.nodes if node.port == port)

    def in_step(self) -> bool:
        """Whether one node is a primary, and the other its replica."""
        told = [
            dict(line.split(":", 1) for line in self.ask(node, "INFO", "replication").splitlines() if ":" in line)
            for node in self.nodes
        ]
        roles = sorted(facts["role"] for facts in told)
        links = [facts["master_link_status"] for facts in told if facts["role"] == "slave"]
        return roles == ["master", "slave"] and links == ["up"]

    def ready(self) -> bool:
        return all(gateway.ready() for gateway in self.gateways)
