"""What bursts take of a gateway's memory, and what is left of it: `mixed.py --bursts`."""

import contextlib
import json
import pathlib
import random
import resource
import socket
import time

from client import Client, head
from costs import PASSWORD
from rig import LOCAL, Rig

# The gateway gives memory back when it has been quiet for five seconds; it looks every five.
QUIET = 15


class Bursts:
    def __init__(self, rig: Rig):
        self.rig, self.gateway = rig, rig.gateways[0]
        self.rows: list[dict] = []
        self.tokens: list[tuple[str, str]] = []

    def run(self, connections: int = 5000, sign_ins: int = 2000) -> list[dict]:
        self.note("start")
        for turn in range(1, 4):
            self.connections(connections, turn)
        for turn in range(1, 4):
            self.sign_ins(sign_ins, turn)
            self.sign_outs(turn)
        return self.rows

    def note(self, what: str):
        """Resident memory by what it is for: the main heap of the C library, its other arenas, and the rest."""
        sums = {"heap": 0, "arenas": 0, "other": 0}
        kind, private = "other", pathlib.Path(f"/proc/{self.gateway.process.pid}/smaps").read_text().splitlines()
        for line in private:
            fields = line.split()
            if "-" in fields[0] and not fields[0].endswith(":"):
                name = fields[5] if len(fields) > 5 else ""
                # Each arena begins at a multiple of 64 MiB.
                start = int(fields[0].partition("-")[0], 16)
                kind = "heap" if name == "[heap]" else "arenas" if not name and start % (64 << 20) == 0 else "other"
            elif fields[0] == "Rss:":
                sums[kind] += int(fields[1])
        figures = self.gateway.figures()
        row = {"what": what, "rss_kib": figures["rss_kib"], **{f"{kind}_kib": sum for kind, sum in sums.items()}}
        row |= {"descriptors": figures["descriptors"], "sessions": self.gateway.metrics().get("sallyport_l1_entries")}
        self.rows.append(row)
        print(json.dumps(row), flush=True)

    def connections(self, count: int, turn: int):
        wires, served = [], 0
        # The other end of each is in this process.
        count = min(count, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
        for number in range(count):
            wire = socket.socket()
            wire.bind((f"127.{20 + turn}.{number % 200}.{1 + number // 200}", 0))
            wire.settimeout(20)
            wire.connect(("127.0.0.1", self.gateway.port))
            wires.append(wire)
        for wire in wires:
            wire.sendall(head(self.rig.authority, "GET", "/page", {}))
        for wire in wires:
            with contextlib.suppress(OSError):
                served += wire.recv(20).startswith(b"HTTP/1.1 401")
        self.note(f"{served} connections, turn {turn}")
        for wire in wires:
            wire.close()
        time.sleep(QUIET)
        self.note(f"after connections, turn {turn}")

    def sign_ins(self, count: int, turn: int):
        for number in range(count):
            address = f"127.{30 + turn * 20 + number // 200}.{number % 200}.7"
            client = Client(self.rig.authority, address)
            with contextlib.closing(client):
                # A busy machine's Redis may confirm too late, which is 503.
                for _ in range(20):
                    if token := self.sign_in(client, LOCAL[number % len(LOCAL)]):
                        break
                    time.sleep(0.2)
                else:
                    raise RuntimeError("nobody can sign in")
                self.tokens.append((token, address))
                client.ask(self.gateway, "GET", "/page", {"Authorization": f"Bearer {token}"})
        self.note(f"{count} sign-ins, turn {turn}")
        time.sleep(QUIET)
        self.note(f"after sign-ins, turn {turn}")

    def sign_in(self, client: Client, user: str) -> str | None:
        flow = client.ask(self.gateway, "GET", "/self-service/login/api").json()["id"]
        login = json.dumps({"method": "password", "identifier": user, "password": PASSWORD}).encode()
        kind = {"Content-Type": "application/json"}
        answer = client.ask(self.gateway, "POST", f"/self-service/login?flow={flow}", kind, login)
        if answer.status not in (200, 503):
            raise RuntimeError(f"a sign-in: {answer.said()}")
        return answer.json()["session_token"] if answer.status == 200 else None

    def sign_outs(self, turn: int):
        random.shuffle(self.tokens)
        for token, address in self.tokens:
            client = Client(self.rig.authority, address)
            with contextlib.closing(client):
                body = json.dumps({"session_token": token}).encode()
                kind = {"Content-Type": "application/json"}
                client.ask(self.gateway, "DELETE", "/self-service/logout/api", kind, body)
        self.tokens = []
        time.sleep(QUIET)
        self.note(f"after sign-outs, turn {turn}")
