#!/usr/bin/env python3
"""Native apps that follow a provider which is slow, away and back: two gateways over one Redis.

    deploy/bench/follow.py [--families 10000] [--binary PATH] [--out FOLDER] [--check]

Each family is the app of another user and refreshes every 75 s, so that the provider is due to be asked at each refresh
(`confirm_every: 1m`). It takes about twelve minutes. Nobody may be signed out unless the provider has disabled the
account. No refresh may wait for more than 3 s. The provider may not be asked about a user again within a minute, nor for more
than 32 users at once by each gateway. FOLDER gets `verdict.json`. Exit status 1: something was wrong.
"""

import argparse
import hashlib
import heapq
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "followed"), str(ROOT / "mixedload"), str(ROOT.parent)]

import machine  # noqa: E402
import rig  # noqa: E402
import words  # noqa: E402
from client import NAVIGATION, Answer, Client  # noqa: E402
from judge import CONFIRM, Judge, prove  # noqa: E402
from provider import Key, coded  # noqa: E402
from servers import free_ports  # noqa: E402

PERIOD = CONFIRM * 1.25
CALLBACK = "com.example.app:/callback"
VERIFIER = "v" * 64
CHALLENGE = coded(hashlib.sha256(VERIFIER.encode()).digest())
# How long the provider is as it is, in seconds. After an outage each user is asked about within one period.
PHASES = {"well": 100, "slow": 80, "failing": 80, "away": 80, "back": 100, "disabled": 140}
SETTINGS = """
upstream: http://127.0.0.1:@APP@
listen: 127.0.0.1:@PORT@
admin: {listen: "127.0.0.1:@ADMIN@"}
secret_file: secret
event_loops: 2
drain: {delay: 0s, timeout: 2s}
log: {access: false}
store: {redis: {url: "redis://127.0.0.1:@REDIS@"}}
public_url: http://localhost:@ORIGIN@
clients:
  - client_id: app
    app_type: native
    callbacks: ["com.example.app:/callback"]
    refresh_token: {confirm_every: 1m}
provider:
  oidc: {issuer: "http://127.0.0.1:@PROVIDER@", client_id: gateway, client_secret_file: client-secret}
"""


class Gateway(rig.Gateway):
    def write(self):
        for name, text in {"secret": "0123456789abcdef" * 4 + "\n", "client-secret": words.SECRET}.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o600)
        text = SETTINGS
        for key, value in (self.rig.values | {"PORT": self.port, "ADMIN": self.admin}).items():
            text = text.replace(f"@{key}@", str(value))
        (self.folder / "sallyport.yaml").write_text(text)


class Family:
    """The app of one user."""

    def __init__(self, number: int):
        self.user = f"user-{number:05}"
        # Limits count by networks, and each user has one.
        self.source = f"127.{1 + number // 250}.{number % 250}.5"
        self.token = ""


class Follow:
    """What runs, in the form in which `rig.Process` knows it."""

    def __init__(self, options):
        self.options, self.binary = options, options.binary
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rig-", dir=options.out))
        a, b, admin_a, admin_b, redis, identity, app = free_ports(7)
        self.origin, self.authority = f"http://localhost:{a}", f"localhost:{a}"
        self.values = {"ORIGIN": a, "REDIS": redis, "PROVIDER": identity, "APP": app}
        self.gateways = [Gateway(self, "gateway-a", a, admin_a), Gateway(self, "gateway-b", b, admin_b)]
        server = ["redis-server", "--bind", "127.0.0.1", "--port", redis, "--save", "", "--maxmemory-policy", "noeviction"]
        self.redis = rig.Process(self, "redis", redis, server)
        self.judge = Judge(len(self.gateways))
        made = subprocess.run(["openssl", "genrsa", "-traditional", "2048"], check=True, capture_output=True).stdout
        text = subprocess.run(["openssl", "rsa", "-text", "-noout"], input=made, check=True, capture_output=True).stdout
        self.provider = words.Provider(identity, Key(text.decode()), self.judge)
        self.families = [Family(number) for number in range(options.families)]
        self.due: list[tuple[float, int]] = []
        self.lock = threading.Lock()
        self.stops = threading.Event()

    def judge_line(self, gateway: Gateway, line: bytes):
        for prefix in [b"sps_", b"spt_", b"spr_", b"spa_", b"spc_"]:
            if prefix in line:
                self.judge.report(f"{gateway.name} logs a token ({prefix.decode()})")
        if b'"level":"error"' in line or b'"level":"critical"' in line:
            self.judge.report(f"{gateway.name}: {line[:300].decode(errors='replace')}")

    # Apps

    def ask(self, client: Client, method: str, target: str, fields=None, body=None) -> Answer:
        return client.ask(random.choice(self.gateways), method, target, fields, body)

    def sign_in(self, family: Family):
        """The user signs in with the system's browser, and the app gets a refresh token."""
        client = Client(self.authority, family.source)
        try:
            answer = self.ask(client, "GET", "/.sallyport/login?return_to=/", NAVIGATION)
            asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.field("location")).query))
            back = urllib.parse.urlsplit(self.provider.code(asked | {"user": family.user}))
            fields = NAVIGATION | {"Sec-Fetch-Site": "cross-site"}
            self.ask(client, "GET", f"{back.path}?{back.query}", fields)
            wish = {"client_id": "app", "response_type": "code", "redirect_uri": CALLBACK, "scope": "openid offline_access"}
            wish |= {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
            answer = self.ask(client, "GET", f"/authorize?{urllib.parse.urlencode(wish)}", NAVIGATION)
            code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.field("location")).query)).get("code", "")
            form = {"grant_type": "authorization_code", "client_id": "app", "redirect_uri": CALLBACK}
            answer = self.ask(client, "POST", "/oauth/token", None, form | {"code": code, "code_verifier": VERIFIER})
            family.token = answer.json().get("refresh_token", "")
        finally:
            client.close()
        if not family.token:
            raise RuntimeError(f"no sign-in of {family.user}: {answer.said()}")

    def refresh(self, family: Family) -> bool:
        """Whether the app goes on."""
        client = Client(self.authority, family.source)
        try:
            form = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": family.token}
            answer = self.ask(client, "POST", "/oauth/token", None, form)
        except OSError as error:
            self.judge.report(f"a refresh of {family.user}: {error!r}")
            return False
        finally:
            client.close()
        goes_on = self.judge.refreshed(family.user, answer.status, answer.body.decode(errors="replace"), answer.took)
        if answer.status == 200:
            family.token = answer.json()["refresh_token"]
        return goes_on

    # Load

    def work(self):
        """Refreshes the family that is due next, again and again."""
        while not self.stops.is_set():
            with self.lock:
                at, number = heapq.heappop(self.due) if self.due else (time.monotonic() + 1, -1)
            if self.stops.wait(max(0, at - time.monotonic())):
                return
            if number >= 0 and self.refresh(self.families[number]):
                with self.lock:
                    heapq.heappush(self.due, (at + PERIOD * random.uniform(0.98, 1.02), number))

    def sign_all_in(self):
        waiting = list(range(len(self.families)))
        failures: list[str] = []

        def work():
            while not failures:
                with self.lock:
                    if not waiting:
                        return
                    number = waiting.pop()
                try:
                    self.sign_in(self.families[number])
                except (OSError, ValueError, KeyError, RuntimeError) as error:
                    failures.append(f"{self.families[number].user}: {error!r}")

        self.together(work, 8)
        if failures:
            raise RuntimeError(failures[0])
        now = time.monotonic()
        self.due = [(now + random.uniform(0, PERIOD), number) for number in range(len(self.families))]
        heapq.heapify(self.due)

    @staticmethod
    def together(work, count: int) -> None:
        threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def begin(self, phase: str):
        self.judge.phase = phase
        self.provider.delay = 2 if phase == "slow" else 0.1
        self.provider.is_failing = phase == "failing"
        if phase == "away":
            self.provider.stop()
        if phase == "back":
            self.provider.start()
        if phase == "disabled":
            users = random.sample([family.user for family in self.families], max(1, len(self.families) // 100))
            self.judge.disabled = dict.fromkeys(users, time.time())
        print(f"{time.strftime('%H:%M:%S')} the provider is {phase}", flush=True)

    # The run

    def run(self) -> int:
        facts = machine.facts(ROOT.parent.parent, self.binary)
        try:
            self.redis.start()
            self.redis.await_port()
            self.provider.start()
            for gateway in self.gateways:
                gateway.write()
                gateway.start()
                gateway.await_port()
            rig.Rig.until("gateways that are ready", lambda: all(gateway.ready() for gateway in self.gateways))
            began = time.monotonic()
            self.sign_all_in()
            print(f"{len(self.families)} users signed in within {time.monotonic() - began:.0f} s", flush=True)
            # More than may wait for the provider, so that the others are never held up.
            workers = [threading.Thread(target=self.work, daemon=True) for _ in range(2 * self.judge.most + 32)]
            for thread in workers:
                thread.start()
            for phase, seconds in PHASES.items():
                self.begin(phase)
                self.stops.wait(seconds * self.options.scale)
            self.stops.set()
            for thread in workers:
                thread.join(30)
            renewals = self.renewals()
            self.judge_end(renewals)
        finally:
            self.stops.set()
            for process in [*self.gateways, self.redis]:
                process.stop()
            self.provider.stop()
        verdict = {"machine": facts, "families": len(self.families), "renewals": renewals} | self.judge.figures()
        (self.options.out / "verdict.json").write_text(json.dumps(verdict, indent=1) + "\n")
        print(json.dumps({key: value for key, value in verdict.items() if key != "machine"}, indent=1))
        return 1 if self.judge.wrong else 0

    def renewals(self) -> dict[str, int]:
        """How renewals ended, by the gateways' own counts."""
        found: dict[str, int] = {}
        for gateway in self.gateways:
            for name, value in gateway.metrics().items():
                if name.startswith("sallyport_provider_renewals_total"):
                    result = name.partition('"')[2].rstrip('"}')
                    found[result] = found.get(result, 0) + int(value)
        return found

    def judge_end(self, renewals: dict[str, int]):
        """Whether every account that was disabled has ended, and each other one was asked about since the outage."""
        judge = self.judge
        if missing := set(judge.disabled) - judge.said_no:
            judge.report(f"the provider was not asked about {len(missing)} accounts after they were disabled")
        if renewals.get("ended", 0) != len(judge.said_no):
            judge.report(f"{renewals.get('ended', 0)} sign-ins have ended, and {len(judge.said_no)} accounts are disabled")
        # Whoever's refresh token may have been used without an answer is signed in, and nobody asks about that user any more.
        if renewals.get("lost", 0):
            judge.report(f"{renewals['lost']} sign-ins are no longer followed, although the provider answers within 2 s")
        since = time.time() - (PHASES["back"] + PHASES["disabled"]) * self.options.scale
        if unasked := [user for user, at in judge.said_yes.items() if at < since]:
            judge.report(f"the provider was not asked about {len(unasked)} users since it is back: {unasked[:3]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", type=int, default=10_000)
    parser.add_argument("--scale", type=float, default=1, help="of the time for which the provider is as it is")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT.parent.parent / ".build/release/sallyport")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT.parent.parent / ".build/follow")
    parser.add_argument("--check", action="store_true", help="only look whether what judges notices what is wrong")
    options = parser.parse_args()
    prove()
    if options.check:
        print("the judge notices what is wrong")
        return 0
    options.binary, options.out = options.binary.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    machine.raise_file_limit()
    return Follow(options).run()


if __name__ == "__main__":
    sys.exit(main())
