#!/usr/bin/env python3
"""Compares the model of scale.py with gateways and a Redis that run here: 2, 4 and 8 gateways, one event loop each.

    deploy/bench/scale_check.py [--binary PATH] [--gateways 2,4,8]

It takes about two and a half minutes: 40 seconds for each number of gateways, half of a minute for times of messages. All are
processes on this machine, which speak over its loopback.

What is compared is counted, not timed: the commands that reach Redis, the reads of bursts that go to any gateway, what is
heard of a sign-in and a sign-out, and the bytes that this costs Redis for each gateway. Last it measures the CPU time of a
message, in Redis and in the gateways, for the model's table. Exit status 1: a count differs by more than a twentieth.
"""

import argparse
import contextlib
import http.client
import json
import pathlib
import random
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import machine
import scale
from counted import Listener, Redis, difference
from kinds import HERE
from servers import USERS, Bench, Server, running, sign_in

SETTINGS = 'log: {access: false, audit: false}\nstore: {redis: {url: "redis://127.0.0.1:@REDIS@"}}\n'
JSON = {"Content-Type": "application/json"}
# The requests of one burst of a session, as a page makes them.
BURST = 10
TOLERANCE = 0.05
# An entry that is older than this is read again (SessionCache.hardAge), and an end's own key is gone (RedisStore.margin).
PAUSE = 6


def call(gateway: Server, method: str, path: str, token: str, body: str | None = None):
    """Asks until the answer is there: on a busy machine Redis may take longer than a gateway waits (503)."""
    for _ in range(5):
        connection = http.client.HTTPConnection("127.0.0.1", gateway.target.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Host": "localhost", "Authorization": f"Bearer {token}"} | JSON)
            if (status := connection.getresponse().status) != 503:
                break
        time.sleep(1)
    if status not in [200, 204]:
        sys.exit(f"{method} {path}: {status}")


def compare(bench: Bench, gateways: int):
    """Yields what was counted and what the model says, with a name."""
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(bench, "app", {}))
        store = stack.enter_context(running(bench, "redis", {}))
        fleet = start(stack, bench, gateways, app, store)
        redis = stack.enter_context(contextlib.closing(Redis(store.target.port)))
        listener = Listener(store.target.port)
        stack.enter_context(contextlib.closing(listener.redis))
        time.sleep(1)

        before = redis.commands()
        tokens = sign_in(fleet[0], bench)
        time.sleep(0.5)
        done = difference(redis.commands(), before)
        expected, expected_bytes = scale.COMMANDS["sign_in"], scale.SESSION_BYTES + scale.ADDRESS_BYTES
        yield "scripts of a sign-in", scripts(done) / USERS, expected.scripts
        yield "reads of a sign-in", done.get("mget", 0) / USERS, expected.reads
        yield "keys in notifications of a sign-in", count(listener.heard()) / USERS, scale.KEYS["sign_in"]
        yield "bytes of a session", redis.size(["sp:s:", "sp:g:", "sp:i:", "sp:u:"]) / USERS, expected_bytes

        before = redis.commands()
        for gateway in fleet:
            for token in tokens:
                call(gateway, "GET", "/any", token)
        # A gateway that does not know whose a session is reads the user's epoch after it.
        first = difference(redis.commands(), before).get("mget", 0)
        yield "first reads of a session, all gateways", first / USERS, 2 * gateways - 1

        time.sleep(PAUSE)
        before = redis.commands()
        rounds = 3
        for _ in range(rounds):
            for token in tokens:
                for _ in range(BURST):
                    call(random.choice(fleet), "GET", "/any", token)
            time.sleep(PAUSE)
        reads = difference(redis.commands(), before).get("mget", 0) / USERS / rounds
        yield f"reads of a burst of {BURST} to any gateway", reads, scale.distinct(gateways, BURST)

        listener.heard()
        before = redis.commands()
        for token in tokens:
            call(fleet[0], "DELETE", "/self-service/logout/api", token, json.dumps({"session_token": token}))
        done = difference(redis.commands(), before)
        expected = scale.COMMANDS["sign_out"]
        yield "scripts of a sign-out", scripts(done) / USERS, expected.scripts
        yield "reads of a sign-out", (done.get("mget", 0) + done.get("get", 0)) / USERS, expected.reads
        heard = listener.heard()
        yield "messages of a sign-out", len(heard) / USERS, 1
        time.sleep(PAUSE)
        yield "keys in notifications of a sign-out", (count(heard) + count(listener.heard())) / USERS, scale.KEYS["sign_out"]

        # The same message to each gateway and to this listener; what else is sent meanwhile is too little to count.
        sent, messages = redis.sent(), 2000
        for number in range(messages):
            redis.ask("SET", f"sp:f:{{{number:010}}}", "", "PX", "60000")
        answers = messages * len("+OK\r\n")
        each = (redis.sent() - sent - answers) / messages / (gateways + 1)
        yield "bytes of a message to a gateway", each, scale.message_bytes(1)


def start(stack: contextlib.ExitStack, bench: Bench, gateways: int, app: Server, store: Server) -> list[Server]:
    """Gateways that share the Redis, until the stack ends."""
    beside = {"APP": app.target.port, "REDIS": store.target.port}
    settings = [bench, "sallyport", beside, SETTINGS]
    return [stack.enter_context(running(*settings, is_signing_in=False)) for _ in range(gateways)]


def scripts(done: dict[str, int]) -> int:
    # `eval` is an `evalsha` again, for the first time that Redis sees the script.
    return done.get("evalsha", 0)


def count(messages: list[list[str]]) -> int:
    return sum(map(len, messages))


def costs(bench: Bench, gateways: int, at_once: int, keys: int):
    """The CPU time in microseconds of a key that ends, in Redis for each gateway and in a gateway."""
    with contextlib.ExitStack() as stack:
        app = stack.enter_context(running(bench, "app", {}))
        store = stack.enter_context(running(bench, "redis", {}))
        redis = stack.enter_context(contextlib.closing(Redis(store.target.port)))
        own = write(redis, store, at_once, keys)
        fleet = start(stack, bench, gateways, app, store)
        time.sleep(2)
        used = [gateway.cpu() for gateway in fleet]
        all_told = write(redis, store, at_once, keys)
        time.sleep(1)
        heard = sum(gateway.cpu() for gateway in fleet) - sum(used)
        return (all_told - own) / gateways, heard / gateways / keys * 1e6


def write(redis: Redis, store: Server, at_once: int, keys: int) -> float:
    """Writes keys that mean ends, so many in one go; Redis's CPU time for each, in microseconds."""
    used = store.cpu()
    for first in range(0, keys, at_once):
        words = [["SET", f"sp:f:{{{number:010}}}", "", "PX", "600000"] for number in range(first, first + at_once)]
        redis.ask_all(words)
    return (store.cpu() - used) / keys * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=HERE.parent.parent / ".build/release/sallyport")
    parser.add_argument("--gateways", default="2,4,8")
    arguments = parser.parse_args()
    wrong = 0
    print("| gateways | what is counted | here | model | error |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        pathlib.Path(folder).chmod(0o755)
        bench = Bench(arguments.binary, pathlib.Path(folder), machine.cores())
        for gateways in map(int, arguments.gateways.split(",")):
            for name, here, model in compare(bench, gateways):
                error = here / model - 1
                wrong += abs(error) > TOLERANCE
                print(f"| {gateways} | {name} | {here:,.2f} | {model:,.2f} | {error:+.1%} |", flush=True)
        print("\n| keys at once | Redis, us a key for each gateway | a gateway, us a key |\n|---|---|---|")
        for at_once, keys in [(1, 10_000), (100, 200_000)]:
            redis_us, gateway_us = costs(bench, 4, at_once, keys)
            print(f"| {at_once} | {redis_us:.2f} | {gateway_us:.2f} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
