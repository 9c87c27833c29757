#!/usr/bin/env python3
"""How gateways and Redis grow, on paper: what a fleet asks of Redis, what its gateways hear of each other, what it costs.

    deploy/bench/scale.py [--update | --check]

Prints the tables of SCALE.md. --update writes them there, and --check fails when they are others. What the model takes from
measurements stands at the top with its source; scale_check.py compares it with gateways that run.
"""

import argparse
import dataclasses
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "SCALE.md"
COSTS = HERE.parent / "costs.txt"
HOURS = 730
DAY = 86_400

# MARK: What was measured


@dataclasses.dataclass(frozen=True)
class Commands:
    """What one operation asks of Redis: scripts that write, and reads."""

    scripts: int
    reads: int


# Counted by scale_check.py, for users with an email address: the scripts are four limits and the end of one, the session, the
# lists of the user and of the address, and the log of the hour. Without an address it is one less.
COMMANDS = {"sign_in": Commands(9, 1), "sign_out": Commands(1, 3)}
# Keys that every gateway hears of: the session's record, and in the end its lineage's ending and the expiry of that.
KEYS = {"sign_in": 1, "sign_out": 2}
# A session that ends by time is heard of once more, when Redis drops its record.
KEYS_OF_EXPIRY = 1
# What a session takes in Redis: its record, ledger, idle time, and its line in the user's list; and where the user has an
# email address, that with it and the line in the list of the address.
SESSION_BYTES, ADDRESS_BYTES = 860, 410
# A gateway serves a session that it has read for 5 seconds, and reads it in the background from the fourth on.
REFRESH = 4
# A use is noted once a minute.
TOUCH = 60
# Ends that a gateway remembers in 15 minutes before it forgets the first (Sources/RedisStore/Store/EndingMemory.swift).
REMEMBERED, SPAN = 2 * 131_072, 900
# CPU time in microseconds, from scale_check.py and the table `redis` of run.py, on one core of a Xeon at 2.x GHz. A message
# is written to each gateway in each turn of Redis's loop in which keys ended; the keys of a turn are one message.
READ_US, SCRIPT_US = 3.5, 24.0
WRITE_US, WRITTEN_KEY_US = 2.3, 0.05
HEARD_MESSAGE_US, HEARD_KEY_US = 10.0, 1.9
# What a read adds to a request in the gateway.
GATEWAY_READ_US = 5.0
# How the instructions and system calls of costs.txt become time: about one instruction a cycle at 3 GHz; and what TLS adds to
# a request on a kept connection (table `tls`).
INSTRUCTIONS_A_US, SYSTEM_CALL_US, TLS = 3000.0, 0.8, 1.5
# How busy a core may be at the peak.
BUSY = 0.6


def distinct(loops: float, requests: int) -> float:
    """How many of so many event loops a session's requests meet, when each may come to any: as many reads there are."""
    return loops * (1 - (1 - 1 / loops) ** requests)


def message_bytes(keys: float) -> float:
    """The bytes of a message with keys of lineages, as Redis sends it to each gateway."""
    return len("*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n") + keys * len("$17\r\nsp:f:{0123456789}\r\n")


def request_us() -> float:
    """The CPU time of a request with a known session over TLS, with the access log."""
    rows = [line.split() for line in COSTS.read_text().splitlines() if not line.startswith("#")]
    costs = next(dict(zip(rows[0], row)) for row in rows if row[0] == "defaults_and_log")
    return TLS * (float(costs["instructions"]) / INSTRUCTIONS_A_US + float(costs["system_calls"]) * SYSTEM_CALL_US)


# MARK: A fleet


@dataclasses.dataclass(frozen=True)
class Fleet:
    """A region.

    - requests: a second; they come in bursts of `burst`, as a page makes them
    - met: how many event loops a burst meets: with HTTP/2 one, as its connection stays where it is; 0: any, because a
      balancer sends each request elsewhere
    - life: of a session in seconds; `signed_out`: the share that is ended, not left to expire
    - addressed: the share of sessions whose users have an email address
    """

    sessions: float = 10e6
    requests: float = 1e6
    gateways: int = 100
    loops: int = 4
    burst: int = 20
    met: float = 1
    life: float = 4 * 3600
    signed_out: float = 0.3
    addressed: float = 1
    shards: int = 16

    @property
    def starts(self) -> float:
        """Sign-ins a second, and as many ends."""
        return self.sessions / self.life

    @property
    def ends(self) -> float:
        """Sign-outs a second."""
        return self.starts * self.signed_out

    @property
    def reads(self) -> float:
        """Sessions that are read a second. In Redis Cluster each is two commands: a user's epoch has a slot of its own."""
        met = self.met or distinct(self.gateways * self.loops, self.burst)
        return self.requests / self.burst * met

    @property
    def uses(self) -> float:
        """Uses that are noted a second."""
        return min(self.requests / self.burst, self.sessions / TOUCH)

    @property
    def commands(self) -> float:
        reads = self.starts * COMMANDS["sign_in"].reads + self.ends * COMMANDS["sign_out"].reads
        return self.scripts + reads + 2 * self.reads

    @property
    def scripts(self) -> float:
        return self.starts * COMMANDS["sign_in"].scripts + self.ends * COMMANDS["sign_out"].scripts + self.uses

    @property
    def keys(self) -> float:
        """Keys a second that every gateway hears of."""
        return self.starts * (KEYS["sign_in"] + KEYS_OF_EXPIRY) + self.ends * KEYS["sign_out"]

    def shard(self) -> "Shard":
        """One primary's part."""
        work = (self.scripts * SCRIPT_US + (self.commands - self.scripts) * READ_US) / self.shards / 1e6
        return Shard(work, self.keys / self.shards, self.gateways)

    def gateway_cores(self) -> float:
        """Busy cores of all gateways, what they hear included: each event loop hears it all."""
        serving = self.requests * request_us() + self.reads * GATEWAY_READ_US
        hearing = self.gateways * self.keys * (HEARD_MESSAGE_US + HEARD_KEY_US)
        return (serving + hearing) / 1e6

    def hearing_cores(self) -> float:
        """The part of it that is hearing, a message with one key each: the most that it can be."""
        return self.gateways * self.keys * (HEARD_MESSAGE_US + HEARD_KEY_US) / 1e6

    def heard_bytes(self) -> float:
        """Bytes a second from Redis to all gateways for what ends: a key a message, and longer keys than a lineage's."""
        return self.gateways * self.keys * (message_bytes(1) + 50)

    def memory(self) -> float:
        """GiB in all primaries: a third more than the records for what Redis itself and a copy-on-write need."""
        return self.sessions * (SESSION_BYTES + self.addressed * ADDRESS_BYTES) * 4 / 3 / 2**30


@dataclasses.dataclass(frozen=True)
class Shard:
    """A primary: the share of its core that commands take, the keys a second that gateways follow, the gateways."""

    work: float
    keys: float
    gateways: int

    def turn(self) -> float:
        """How long a turn of its loop takes in milliseconds when each has keys to tell: what is told does not grow with the
        turns, because the keys of a turn are one message. It is added to each command's answer."""
        each_key = self.keys * self.gateways * WRITTEN_KEY_US / 1e6
        left = 1 - self.work - each_key
        return math.inf if left <= 0 else self.gateways * WRITE_US / left / 1000

    def telling(self) -> float:
        """The share of its core that it takes to tell the gateways, when keys end one at a time."""
        turns = min(self.keys, 1000 / self.turn()) if self.turn() < math.inf else self.keys
        return self.gateways * (turns * WRITE_US + self.keys * WRITTEN_KEY_US) / 1e6


# MARK: Storms


def storm(fleet: Fleet, ended: float, seconds: float) -> tuple[float, float]:
    """Sign-outs of so many sessions, asked for within `seconds`: when the last is done, and when the last gateway has heard it.

    Second by second: each shard does what its core has left beside its usual work; each gateway hears what its first loop
    has left, where all of it arrives.
    """
    each = COMMANDS["sign_out"].scripts * SCRIPT_US + COMMANDS["sign_out"].reads * READ_US
    each += fleet.gateways * WRITTEN_KEY_US * KEYS["sign_out"]
    able = max(0.0, 1 - fleet.shard().work) / each * 1e6 * fleet.shards
    heard_able = (1 - BUSY) / (HEARD_KEY_US * KEYS["sign_out"]) * 1e6
    asked = done = heard = 0.0
    second, finished = 0, 0.0
    while heard < ended - 1e-6 and second < DAY:
        second += 1
        asked = min(ended, asked + ended / seconds)
        done = min(asked, done + able)
        heard = min(done, heard + heard_able)
        if done >= ended - 1e-6 and not finished:
            finished = second
    return finished, second


def lost_region(fleet: Fleet, regions: int, minutes: float) -> dict[str, float]:
    """One of some regions is lost, and its users sign in at the others within so many minutes: each of these becomes larger,
    and signs users in at a rate that its provider must bear too. Sessions of a lost region are not known elsewhere."""
    share = 1 / (regions - 1)
    after = dataclasses.replace(fleet, sessions=fleet.sessions * (1 + share), requests=fleet.requests * (1 + share))
    rate = fleet.sessions * share / (minutes * 60)
    scripts = rate * COMMANDS["sign_in"].scripts * SCRIPT_US / 1e6 / fleet.shards
    return {"rate": rate, "shard": after.shard().work + scripts, "cores": after.gateway_cores(), "memory": after.memory()}


# MARK: Prices

# US dollars, on demand, Linux, one hour; a GB between zones, each way. Assumed, near the list prices of June 2026: only that
# of m7g was looked up. Replace them by those of the day.
PRICES = {
    "AWS us-east-1": {"gateway": ("m7g.xlarge", 4, 0.1632), "redis": ("r7g.large", 16, 0.1071), "zones": 0.02},
    "Google Cloud us-central1": {
        "gateway": ("n2-standard-4", 4, 0.1942),
        "redis": ("n2-highmem-2", 16, 0.1310),
        "zones": 0.02,
    },
}


def monthly(fleet: Fleet, price: dict) -> dict[str, float]:
    """Dollars a month: gateways, Redis (each primary with a replica), and what is heard across three zones."""
    _, cores, gateway = price["gateway"]
    _, memory, redis = price["redis"]
    machines = max(3, math.ceil(fleet.gateway_cores() / cores / BUSY))
    shards = max(fleet.shards, math.ceil(fleet.memory() / (memory * 0.75)))
    across = dataclasses.replace(fleet, gateways=machines).heard_bytes() * 2 / 3 * HOURS * 3600 / 1e9
    return {"gateways": machines * gateway * HOURS, "redis": 2 * shards * redis * HOURS, "news": across * price["zones"]}


# MARK: Tables


def table(head: list[str], rows: list[list]) -> str:
    lines = [head, ["---"] * len(head), *([written(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def written(value) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def reads_table() -> str:
    ways = [("HTTP/2 to the gateway", 1.0), ("HTTP/1.1, six connections", 6.0), ("a balancer that sends each request anywhere", 0)]
    rows = []
    for name, met in ways:
        fleet = Fleet(met=met)
        rows.append([name, fleet.reads / fleet.requests * fleet.burst, fleet.reads, fleet.commands, fleet.shard().work])
    head = ["the requests of a page come by", "reads a page", "reads a second", "commands a second", "busy share of a shard"]
    return table(head, rows)


def broadcast_table() -> str:
    rows = []
    for hours in [4, 1 / 3]:
        for gateways in [10, 100, 300, 1000, 3000]:
            fleet = Fleet(gateways=gateways, life=hours * 3600)
            shard = fleet.shard()
            hearing, heard = fleet.hearing_cores() / gateways, fleet.heard_bytes() / 1e6
            life = f"{hours * 60:.0f} minutes"
            rows.append([life, gateways, fleet.keys, shard.telling(), shard.turn(), hearing, heard])
    head = ["a session lives", "gateways", "keys a second", "a shard's core, telling", "ms a turn"]
    head += ["a gateway's core, hearing", "MB a second, all"]
    return table(head, rows)


def storm_table() -> str:
    rows = []
    for gateways in [100, 1000]:
        for ended in [10_000, 100_000, 1_000_000, 10_000_000]:
            done, heard = storm(Fleet(gateways=gateways), ended, 60)
            rows.append([gateways, ended, done, heard, "yes" if ended <= REMEMBERED else "no"])
    return table(["gateways", "sign-outs within a minute", "done after s", "heard after s", "all remembered for a failover"], rows)


def region_table() -> str:
    rows = []
    for minutes in [1, 5, 30]:
        lost = lost_region(Fleet(sessions=10e6 / 3, requests=1e6 / 3, gateways=34, shards=6), 3, minutes)
        rows.append([minutes, lost["rate"], lost["shard"], lost["cores"], lost["memory"]])
    head = ["minutes", "sign-ins a second, each region", "busy share of a shard", "busy gateway cores", "GiB in Redis"]
    return table(head, rows)


def price_table() -> str:
    rows = []
    for cloud, price in PRICES.items():
        for name, fleet in [
            ("10 million sessions, 1 million requests a second", Fleet()),
            ("1 million sessions, 10,000 requests a second", Fleet(sessions=1e6, requests=1e4, shards=1)),
        ]:
            parts = monthly(fleet, price)
            total = sum(parts.values())
            rows.append([cloud, name, *parts.values(), total, total / fleet.sessions * 1e6])
    return table(["prices", "fleet", "gateways", "Redis", "between zones", "in all", "for a million"], rows)


TABLES = {"reads": reads_table, "broadcast": broadcast_table, "storm": storm_table, "region": region_table, "price": price_table}


def page(text: str) -> str:
    """The page with its tables written anew, between their marks."""
    for name, made in TABLES.items():
        before, _, rest = text.partition(f"<!-- table {name} -->\n")
        _, end, after = rest.partition("\n<!-- end -->")
        if not end:
            sys.exit(f"SCALE.md has no place for the table {name}")
        text = f"{before}<!-- table {name} -->\n{made()}{end}{after}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.update and not arguments.check:
        for name, made in TABLES.items():
            print(f"{name}\n\n{made()}\n")
        return 0
    text = PAGE.read_text()
    if arguments.update:
        PAGE.write_text(page(text))
    elif page(text) != text:
        print("SCALE.md has other figures than the model: deploy/bench/scale.py --update", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
