#!/usr/bin/env python3
"""Measures what a call of each endpoint costs the gateway and Redis, and writes the table `endpoints`:

    deploy/bench/endpoints.py [--binary PATH] [--rounds N] [--calls N] [--out FOLDER]

Calls follow one another, each of a user and an address of its own. Three gateways are asked: one alone, for CPU time; one that
asks Redis through a relay, which counts; and one under valgrind, which counts instructions. endpoints.json gets every figure,
and FIGURES.md what they come to. Exit status 1: a gateway does not answer as it should, or the machine is too busy.
"""

import argparse
import base64
import collections
import contextlib
import hashlib
import html
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterable

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import machine
import page
from costs import PASSWORD
from counted import UNRELATED
from kinds import HERE
from provider import Provider
from relay import Relay
from servers import USERS, Bench, Server, running

ROOT = HERE.parent.parent
# How long the relay holds answers back, in seconds: not so long that commands time out.
DELAY = 0.02
AUDIENCE = "https://api.example.com"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
PAGE_LOAD = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none", "Accept": "text/html"}
# Users of the second kind have hashes that cost twice as much (servers.PASSWORD_HASH).
COSTLY = "$2b$05$benchbenchbenchbenchbudOq/fxklWfdaZVKnkM0gMV8f0kGhBE2"

# Runs a function for each of some items, as the row with this name, and returns its results.
Counter = Callable[[str, Callable, Iterable], list]


class Caller:
    """Asks a gateway over one connection, for many users on devices of their own."""

    def __init__(self, port: int, provider: Provider, secret: str):
        self.origin, self.provider, self.secret = f"http://localhost:{port}", provider, secret
        self.connection = http.client.HTTPConnection("localhost", port, timeout=60)
        # Answers that came too late from Redis: it has 100 ms, which a busy machine may not keep.
        self.late = 0

    def ask(self, number: int, method: str, path: str, expected: int, body=None, **fields: str) -> http.client.HTTPResponse:
        """The answer, with its `text`. A body is JSON if it is a dictionary."""
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        fields["X-Forwarded-For"] = f"10.{number >> 8}.{number & 255}.1"
        if isinstance(body, dict):
            body, fields["Content-Type"] = json.dumps(body), "application/json"
        for _ in range(5):
            self.connection.request(method, path, body, fields)
            answer = self.connection.getresponse()
            answer.text = answer.read().decode()
            if answer.status != 503:
                break
            self.late += 1
            time.sleep(1)
        if answer.status != expected:
            sys.exit(f"{method} {path}: {answer.status} {answer.text}")
        return answer

    def sign_in(self, number: int, kind: str = "u") -> tuple[int, str]:
        """Signs in with a password, natively: a flow and its submission."""
        flow = json.loads(self.ask(number, "GET", "/self-service/login/api", 200).text)["id"]
        password = {"method": "password", "identifier": f"{kind}-{number % USERS:06}", "password": PASSWORD}
        answer = self.ask(number, "POST", f"/self-service/login?flow={flow}", 200, password)
        return number, json.loads(answer.text)["session_token"]

    def whoami(self, session: tuple[int, str]):
        number, token = session
        self.ask(number, "GET", "/sessions/whoami", 200, X_Session_Token=token)

    def mint(self, session: tuple[int, str]) -> tuple[int, str]:
        number, token = session
        asked = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "client_id": "app",
            "subject_token": token,
            "subject_token_type": "urn:sallyport:params:oauth:token-type:session_token",
            "audience": f"urn:{self.origin.removeprefix('http://')}:session_transfer",
        }
        return number, json.loads(self.ask(number, "POST", "/oauth/token", 200, asked).text)["access_token"]

    def use_by_cookie(self, minted: tuple[int, str]):
        number, token = minted
        self.proven(self.ask(number, "GET", "/", 303, **PAGE_LOAD, Cookie=f"session_transfer_token={token}"))

    def use_by_query(self, minted: tuple[int, str]):
        number, token = minted
        self.proven(self.ask(number, "GET", f"/?session_transfer_token={token}", 303, **PAGE_LOAD))

    def proven(self, answer: http.client.HTTPResponse):
        """Ends the run unless the answer has a session for the browser, or lets it try once more."""
        cookies = answer.headers.get_all("Set-Cookie") or []
        if any(field.startswith("sallyport-attempt=") for field in cookies) and "sps_" not in str(cookies):
            self.late += 1
        elif "sps_" not in str(cookies):
            sys.exit(f"not signed in: {answer.headers} {answer.text}")

    def replay(self, minted: tuple[int, str]):
        number, token = minted
        answer = self.ask(number, "GET", f"/?session_transfer_token={token}", 303, **PAGE_LOAD)
        if "sps_" in str(answer.headers.get_all("Set-Cookie")):
            sys.exit("a token was good twice")

    def sign_out(self, session: tuple[int, str]):
        number, token = session
        self.ask(number, "DELETE", "/self-service/logout/api", 204, {"session_token": token})

    def token(self, number: int, **form: str) -> dict:
        return json.loads(self.ask(number, "POST", "/oauth/token", 200, {"client_id": "app", **form}).text)

    def redeem(self, granted: tuple[int, str]) -> tuple[int, dict]:
        number, code = granted
        form = {"code": code, "redirect_uri": "com.example.app:/callback", "code_verifier": VERIFIER}
        return number, self.token(number, grant_type="authorization_code", **form)

    def refresh(self, tokens: tuple[int, dict]) -> tuple[int, dict]:
        number, former = tokens
        return number, self.token(number, grant_type="refresh_token", refresh_token=former["refresh_token"])

    def introspect(self, tokens: tuple[int, dict]):
        number, known = tokens
        form = {"client_id": "server", "client_secret": self.secret, "token": known["access_token"]}
        if not json.loads(self.ask(number, "POST", "/oauth/introspect", 200, form).text)["active"]:
            sys.exit("a token is not active")

    def begin_exchange(self, number: int) -> tuple[int, str, str]:
        """The code that an app keeps, and the one that comes back through its browser."""
        begun = json.loads(self.ask(number, "GET", "/self-service/login/api?return_session_token_exchange_code=true", 200).text)
        chosen = {"method": "oidc", "provider": "openid"}
        led = json.loads(self.ask(number, "POST", f"/self-service/login?flow={begun['id']}", 422, chosen).text)
        back = Browser(self, number).open(led["redirect_browser_to"])
        return number, begun["session_token_exchange_code"], code_in(back)

    def exchange(self, codes: tuple[int, str, str]):
        number, kept, returned = codes
        query = urllib.parse.urlencode({"init_code": kept, "return_to_code": returned})
        self.ask(number, "GET", f"/sessions/token-exchange?{query}", 200)


class Browser:
    """Follows redirects with cookies, to the provider and back."""

    def __init__(self, caller: Caller, number: int):
        self.caller, self.number, self.cookies = caller, number, {}

    def open(self, url: str) -> str:
        """Where the redirects lead in the end: to the page `/`, or to an app."""
        while True:
            if url.startswith(self.caller.provider.issuer):
                url = self.caller.provider.callback(url)
            path = url.removeprefix(self.caller.origin)
            if path == "/" or not path.startswith("/"):
                return url
            cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            answer = self.caller.ask(self.number, "GET", path, 303, **PAGE_LOAD, Cookie=cookie)
            for field in answer.headers.get_all("Set-Cookie") or []:
                name, _, value = field.split(";")[0].partition("=")
                self.cookies[name] = value
            url = html.unescape(answer.headers["Location"])

    def sign_in(self):
        self.open("/.sallyport/login?provider=openid&return_to=/")

    def authorize(self) -> tuple[int, str]:
        """A code for the app, from the session of the browser."""
        asked = {
            **{"client_id": "app", "response_type": "code", "redirect_uri": "com.example.app:/callback", "state": "s"},
            **{"scope": "offline_access read", "code_challenge": CHALLENGE, "code_challenge_method": "S256"},
        }
        for _ in range(5):
            back = self.open(f"/authorize?{urllib.parse.urlencode(asked)}")
            if "error=temporarily_unavailable" not in back:
                break
            self.caller.late += 1
            time.sleep(1)
        return self.number, code_in(back)


def code_in(url: str) -> str:
    code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query)).get("code")
    return code or sys.exit(f"no code: {url}")


def journey(caller: Caller, calls: int, counted: Counter):
    """Calls each endpoint so many times."""
    sessions = counted("sign_in_by_password", caller.sign_in, range(calls))
    counted("twice_the_hash", lambda number: caller.sign_in(number, "costly"), range(calls))
    counted("whoami_first", caller.whoami, sessions)
    counted("whoami", caller.whoami, sessions)
    tokens = counted("mint", caller.mint, sessions)
    counted("use_by_cookie", caller.use_by_cookie, tokens)
    counted("replay", caller.replay, tokens)
    counted("use_by_query", caller.use_by_query, map(caller.mint, sessions))
    counted("sign_out", caller.sign_out, sessions)

    counted("exchange", caller.exchange, map(caller.begin_exchange, range(calls)))
    browsers = [Browser(caller, number) for number in range(calls)]
    counted("sign_in_by_openid", Browser.sign_in, browsers)
    granted = counted("redeem", caller.redeem, map(Browser.authorize, browsers))
    granted = counted("refresh", caller.refresh, granted)
    counted("introspect", caller.introspect, granted)


# MARK: Counting


def cpu(process: int) -> float:
    """The seconds that a process has computed, all its threads, exactly (Linux's clock of another process)."""
    return time.clock_gettime((~process << 3) | 2)


def computed(gateway: Server, store: Server, figures: dict) -> Counter:
    """CPU time for each call, in microseconds."""

    def count(name: str, act: Callable, items: Iterable) -> list:
        items = list(items)
        before = [cpu(server.process.pid) for server in [gateway, store]]
        results = list(map(act, items))
        after = [cpu(server.process.pid) for server in [gateway, store]]
        for what, one, other in zip(["gateway_us", "redis_us"], before, after):
            figures[name][what].append((other - one) / len(items) * 1e6)
        return results

    return count


def relayed(relay: Relay, figures: dict) -> Counter:
    """What each call asks of Redis, and how many answers of it follow one another before the call's own: by as many times the
    delay it takes longer if each is held back."""

    def count(name: str, act: Callable, items: Iterable) -> list:
        items = list(items)
        time.sleep(0.1)
        relay.take()
        relay.held.clear()
        results, took = [], {0.0: [], DELAY: []}
        for number, item in enumerate(items):
            relay.delay = DELAY if number % 2 else 0.0
            began = time.monotonic()
            results.append(act(item))
            took[relay.delay].append(time.monotonic() - began)
            # What nobody waits for.
            time.sleep(2 * DELAY)
        relay.delay = 0.0
        seen = relay.take()
        for command, times in seen.commands.items():
            figures[name]["commands"][command] = times / len(items)
        figures[name]["bytes"] = (seen.sent + seen.received) / len(items)
        waited = statistics.median(took[DELAY]) - statistics.median(took[0.0])
        # A busy machine holds them back for longer.
        figures[name]["round_trips"] = round(waited / statistics.median(relay.held or [DELAY]))
        return results

    return count


def instructed(gateway: Server, figures: dict) -> Counter:
    """Instructions for each call."""

    def control(*words: str):
        subprocess.run(["callgrind_control", *words, str(gateway.process.pid)], check=True, capture_output=True)

    def count(name: str, act: Callable, items: Iterable) -> list:
        items = list(items)
        # What a first call sets up is not counted.
        results = [act(item) for item in items[:5]]
        control("-i", "on")
        results += map(act, items[5:])
        control("-i", "off")
        control("-d", name)
        dump = max(gateway.folder.glob("callgrind.out.*"), key=os.path.getmtime)
        total = int(re.search(r"^totals: (\d+)", dump.read_text(errors="replace"), re.MULTILINE)[1])
        figures[name]["instructions"] = total / (len(items) - 5)
        return results

    return count


def measure(bench: Bench, rounds: int, calls: int) -> tuple[dict, int]:
    """The figures, and how many answers came too late to be any."""
    late = 0
    figures = collections.defaultdict(lambda: collections.defaultdict(list, commands={}))
    provider = Provider(bench.folder)
    users = [f'{{identifier: costly-{number:06}, password_hash: "{COSTLY}"}}' for number in range(USERS)]
    secret = bench.secret.read_text().strip()

    @contextlib.contextmanager
    def started(kind: str, relay: Relay | None, redis: int, app: int):
        beside = {"APP": app, "REDIS": relay.port if relay else redis, "PROVIDER": provider.port, "COSTLY": ", ".join(users)}
        with running(bench, kind, beside, is_signing_in=False) as gateway:
            time.sleep(1)
            yield gateway, Caller(gateway.target.port, provider, secret)

    for number in range(rounds):
        with contextlib.ExitStack() as stack:
            app, store = (stack.enter_context(running(bench, kind, {})) for kind in ["app", "redis"])
            ports = [store.target.port, app.target.port]
            with started("endpoints", None, *ports) as (gateway, caller):
                journey(caller, 20, lambda _, act, items: list(map(act, items)))
                journey(caller, calls, computed(gateway, store, figures))
                late += caller.late
            if number == 0:
                relay = Relay(store.target.port, UNRELATED)
                with started("endpoints", relay, *ports) as (gateway, caller):
                    journey(caller, 30, relayed(relay, figures))
                    late += caller.late
                with started("endpoints-counted", None, *ports) as (gateway, caller):
                    journey(caller, 65, instructed(gateway, figures))
                    late += caller.late
        print(f"round {number + 1} of {rounds}", flush=True)
    separate(figures)
    return figures, late


def separate(figures: dict):
    """Says separately what the hash costs: a hash of twice the cost makes a sign-in longer by as much as it."""
    twice, sign_in = figures.pop("twice_the_hash"), figures["sign_in_by_password"]
    hashes = [more - one for more, one in zip(twice["gateway_us"], sign_in["gateway_us"])]
    figures["its_hash"]["gateway_us"] = hashes
    figures["its_hash"]["instructions"] = twice["instructions"] - sign_in["instructions"]
    sign_in["gateway_us"] = [one - own for one, own in zip(sign_in["gateway_us"], hashes)]
    sign_in["instructions"] -= figures["its_hash"]["instructions"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/release/sallyport")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / ".build/bench")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.chmod(folder, 0o755)
        began = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        bench = Bench(arguments.binary, pathlib.Path(folder), machine.cores())
        figures, late = measure(bench, arguments.rounds, arguments.calls)
    arguments.out.mkdir(parents=True, exist_ok=True)
    conditions = {"began": began, "rounds": arguments.rounds, "calls": arguments.calls, "late": late}
    facts = {"table": "endpoints", **conditions, **machine.facts(ROOT, arguments.binary), "figures": figures}
    (arguments.out / "endpoints.json").write_text(json.dumps(facts, indent=1) + "\n")
    (arguments.out / "FIGURES.md").write_text(page.text(arguments.out))
    print("\n".join(page.endpoints(facts)))
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
