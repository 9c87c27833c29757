#!/usr/bin/env python3
"""How gateways and Redis grow, on paper: what a fleet asks of Redis, what its gateways hear of each other, what it costs.

    deploy/bench/scale.py [--update | --check]

Prints the tables of SCALE.md. --update writes them there, and --check fails if they differ. What the model takes from
measurements is at the top with its source; scale_check.py compares it with running gateways.
"""

import argparse
import dataclasses
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "SCALE.md"
MEMORY = HERE.parent.parent / "Sources/RedisStore/Store/EndingMemory.swift"
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
# A use is noted once a minute.
TOUCH = 60
# CPU time of Redis in microseconds, from scale_check.py and the table `redis` of run.py, on one core of a Xeon at 2.x GHz. A
# message is written to each gateway in each turn of Redis's loop in which keys ended; the keys of a turn are one message.
READ_US, SCRIPT_US = 3.5, 24.0
WRITE_US, WRITTEN_KEY_US = 2.3, 0.05
# The same of a gateway of one event loop that hears it. With more loops a key costs at most so much in each of them.
HEARD_MESSAGE_US, HEARD_KEY_US = 10.0, 1.9
# CPU time of a gateway in microseconds for a request with a known session, from FIGURES.md of 28 November 2026 (one core of an
# AMD EPYC): cached_session, defaults_and_log, kept connections with TLS, uncached_session.
CACHED_US, LOGGED_US, TLS_US, UNCACHED_US = 14.3, 15.5, 17.6, 23.5
# A request over TLS on a kept connection, with the access log.
REQUEST_US = LOGGED_US + TLS_US - CACHED_US
# What a read adds to a request.
GATEWAY_READ_US = UNCACHED_US - CACHED_US
# The same of whole sign-ins and of a sign-out, from its table `endpoints`: sign_in_by_password without its hash, which is the
# gateway's work only where it has the users itself, sign_in_by_openid, sign_out.
PASSWORD_US, OPENID_US, SIGN_OUT_US = 654.0, 2143.0, 374.0
# Bytes to and from Redis, from the same table. A use's are counted in its command (Scripts.touch), and in what a replica is
# told of it.
READ_BYTES, SIGN_IN_BYTES, SIGN_OUT_BYTES = 515, 2349, 4237
USE_BYTES, COPIED_USE_BYTES = 175, 140
# Ends that a gateway reads at a time from a new primary (EndingReplay.stride).
REREAD = 256
# How busy a core may be at the peak.
BUSY = 0.6
# More gateways than have a connection each to a primary of Redis (`maxclients`) are not tried.
MOST_GATEWAYS = 10_000


def distinct(loops: float, requests: int) -> float:
    """How many of so many event loops a session's requests meet, when each may come to any: as many reads there are."""
    return loops * (1 - (1 - 1 / loops) ** requests)


def message_bytes(keys: float) -> float:
    """The bytes of a message with keys of lineages, as Redis sends it to each gateway."""
    return len("*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n") + keys * len("$17\r\nsp:f:{0123456789}\r\n")


def remembered() -> tuple[int, int]:
    """How many ends a gateway remembers at least, and for how many seconds (EndingMemory.swift): all generations but the one
    that is being filled."""
    text = MEMORY.read_text()

    def constant(name: str) -> int:
        return int(re.search(rf"static let {name} = (?:Duration\.seconds\()?([0-9_]+)", text)[1])

    return constant("capacity") * (constant("maxGenerations") - 1), constant("span")


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

    @property
    def messages(self) -> float:
        """Messages a second that every gateway hears."""
        return self.shard().messages() * self.shards

    def gateway_cores(self) -> float:
        """Busy cores of all gateways, sign-ins by password and what is heard included."""
        serving = self.requests * REQUEST_US + self.reads * GATEWAY_READ_US
        signing = self.starts * PASSWORD_US + self.ends * SIGN_OUT_US
        return (serving + signing) / 1e6 + self.gateways * self.hearing(self.loops)

    def hearing(self, loops: int) -> float:
        """Busy cores of one gateway for what it hears, in so many of its event loops: the first takes the messages, and every
        loop looks at each key."""
        return (self.messages * HEARD_MESSAGE_US + self.keys * HEARD_KEY_US * loops) / 1e6

    def heard_bytes(self) -> float:
        """Bytes a second from Redis to all gateways for what ends. A session's key is 50 bytes longer than a lineage's."""
        keys = self.keys * (message_bytes(1) - message_bytes(0) + 50)
        return self.gateways * (self.messages * message_bytes(0) + keys)

    def read_bytes(self) -> float:
        """Bytes a second between Redis and all gateways for sessions that are read."""
        return self.reads * READ_BYTES

    def script_bytes(self, use: float) -> float:
        """The same for what is written, with so many bytes for a use."""
        return self.uses * use + self.starts * SIGN_IN_BYTES + self.ends * SIGN_OUT_BYTES

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

    def messages(self) -> float:
        """Messages a second to each gateway, when keys end one at a time: at most one for each turn."""
        return min(self.keys, 1000 / self.turn()) if self.turn() < math.inf else self.keys

    def telling(self) -> float:
        """The share of its core that it takes to tell the gateways."""
        return self.gateways * (self.messages() * WRITE_US + self.keys * WRITTEN_KEY_US) / 1e6


# MARK: Storms


@dataclasses.dataclass(frozen=True)
class End:
    """What one end of many asks: of Redis, of every gateway that hears of it (reads), and the keys that it hears of."""

    commands: Commands
    reads: int
    keys: int


SIGN_OUT = End(COMMANDS["sign_out"], 0, KEYS["sign_out"])
# An operator ends all sessions of a user: the list, a session and its user's epoch are read, and the epoch is raised, which
# every gateway reads again (RedisStore.remember). The key expires long after.
USER_ENDED = End(Commands(1, 3), 1, 1)
# `sallyport sessions end --all` asks for one user after another. Assumed, and little: each request waits for four answers of
# Redis in turn.
ONE_BY_ONE = 0.001


def storm(fleet: Fleet, end: End, ended: float, seconds: float) -> tuple[float, float, float]:
    """So many ends, asked for within `seconds`: how busy a primary is meanwhile, when the last is done, and when the last
    gateway has heard it; infinite if that takes a day or longer.

    Second by second: each shard does what its core has left beside its usual work; each gateway hears what its first loop
    has left, where all of it arrives.
    """
    each = end.commands.scripts * SCRIPT_US + (end.commands.reads + fleet.gateways * end.reads) * READ_US
    each += fleet.gateways * WRITTEN_KEY_US * end.keys
    usual = fleet.shard().work
    able = max(0.0, 1 - usual) / each * 1e6 * fleet.shards
    heard_able = (1 - BUSY) / (HEARD_KEY_US * end.keys + GATEWAY_READ_US * end.reads) * 1e6
    asked = done = heard = 0.0
    second, finished = 0, math.inf
    while heard < ended - 1e-6 and second < DAY:
        second += 1
        asked = min(ended, asked + ended / seconds)
        done = min(asked, done + able)
        heard = min(done, heard + heard_able)
        if done >= ended - 1e-6 and math.isinf(finished):
            finished = second
    busy = usual + ended / seconds * each / 1e6 / fleet.shards
    return min(1.0, busy), finished, second if heard >= ended - 1e-6 else math.inf


def are_remembered(fleet: Fleet, ended: float, seconds: float) -> bool:
    """Whether every gateway remembers these ends and the usual ones for as long as a failover may undo them."""
    most, span = remembered()
    return min(ended, ended / seconds * span) + fleet.ends * span <= most


def reread(fleet: Fleet) -> tuple[float, float, float]:
    """After a failover of a shard: how many ends each gateway reads at least from the new primary, for how many seconds they
    all take its core, and for how many milliseconds another command waits at most. In a cluster each end is a command, for the
    ends of that primary's slots, and all are read twice."""
    most, span = remembered()
    ends = min(fleet.ends * span, most) / fleet.shards
    return ends, 2 * ends * fleet.gateways * READ_US / 1e6, min(ends, REREAD) * fleet.gateways * READ_US / 1e3


def lost_region(fleet: Fleet, regions: int, minutes: float) -> dict[str, float]:
    """One of some regions is lost, and its users sign in at the others within so many minutes: each of these becomes larger,
    and signs users in at a rate that its provider must bear too. Sessions of a lost region are not known elsewhere."""
    share = 1 / (regions - 1)
    after = dataclasses.replace(fleet, sessions=fleet.sessions * (1 + share), requests=fleet.requests * (1 + share))
    rate = fleet.sessions * share / (minutes * 60)
    commands = COMMANDS["sign_in"]
    usual = after.shard()
    work = usual.work + rate / after.shards * (commands.scripts * SCRIPT_US + commands.reads * READ_US) / 1e6
    shard = Shard(work, usual.keys + rate / after.shards * KEYS["sign_in"], after.gateways)
    heard = rate * KEYS["sign_in"] * (HEARD_MESSAGE_US + HEARD_KEY_US * after.loops) * after.gateways
    cores = after.gateway_cores() + heard / 1e6
    return {
        "rate": rate,
        "shard": shard.work + shard.telling(),
        "by_password": cores + rate * PASSWORD_US / 1e6,
        "by_openid": cores + rate * OPENID_US / 1e6,
        "memory": after.memory(),
    }


# MARK: Prices

# SkyPilot makes its catalogues from the clouds' own lists.
SKYPILOT = "https://github.com/skypilot-org/skypilot-catalog/blob/"
GOOGLE = f"{SKYPILOT}006059e0f18acb1341e22a27751e9f80df6ba92f/catalogs/v8/gcp/vms.csv"


@dataclasses.dataclass(frozen=True)
class Price:
    """US dollars, where they stand, and the day on which that was read.

    - of: a machine for an hour, on demand, with Linux; or a GB between zones
    - size: a gateway's cores, of which a virtual one counts as one, or the GiB of a Redis
    """

    of: str
    dollars: float
    size: int
    source: str
    read: str = "2026-11-28"


PRICES = {
    "AWS us-east-1": {
        "gateway": Price(
            "m7g.xlarge, 4 cores: twice an m7g.large",
            0.1632,
            4,
            "https://www.factualminds.com/blog/amazon-ec2-on-demand-pricing-instance-families-2026/",
        ),
        "redis": Price(
            "r7g.large, 16 GiB",
            0.1071,
            16,
            f"{SKYPILOT}00148f2af3672e2229b4f7bf8157d5a3f36e3c35/catalogs/v8/aws/vms.csv",
        ),
        "zones": Price(
            "a GB between zones: 0.01 out and 0.01 in", 0.02, 1, "https://www.bitsand.cloud/posts/slashing-data-transfer-costs"
        ),
    },
    "Google Cloud us-central1": {
        "gateway": Price("n2-standard-4, 4 cores", 0.1942, 4, GOOGLE),
        "redis": Price("n2-highmem-2, 16 GiB: a fortieth of an n2-highmem-80", 0.1310, 16, GOOGLE),
        "zones": Price(
            "a GB between zones: outbound; inbound is free",
            0.01,
            1,
            "https://raw.githubusercontent.com/api-evangelist/google-cloud-vpc/refs/heads/main/plans/"
            "google-cloud-vpc-plans-pricing.yml",
        ),
    },
}
# Each primary's, in zones of their own.
REPLICAS = 2


def monthly(fleet: Fleet, price: dict[str, Price]) -> dict[str, float]:
    """Dollars a month: gateways, Redis, and what goes between three zones: what gateways ask of Redis and hear of it, as two
    of three are in another zone than a primary, and what its replicas are told.

    A replica is told at most as much as is sent for a sign-in or a sign-out. Heads of TCP are not counted.
    """
    gateway, redis = price["gateway"], price["redis"]
    run = sized(fleet, gateway.size)
    shards = max(fleet.shards, math.ceil(fleet.memory() / (redis.size * 0.75)))
    asked = (run.read_bytes() + run.script_bytes(USE_BYTES) + run.heard_bytes()) * 2 / 3
    copied = run.script_bytes(COPIED_USE_BYTES) * REPLICAS
    return {
        "machines": run.gateways,
        "gateways": run.gateways * gateway.dollars * HOURS,
        "redis": (1 + REPLICAS) * shards * redis.dollars * HOURS,
        "asked": asked * HOURS * 3600 / 1e9 * price["zones"].dollars,
        "copied": copied * HOURS * 3600 / 1e9 * price["zones"].dollars,
    }


def sized(fleet: Fleet, cores: int) -> Fleet:
    """The same with as few gateways of so many cores as bear it; at least 3, one in each zone."""
    for count in range(3, MOST_GATEWAYS + 1):
        run = dataclasses.replace(fleet, gateways=count, loops=cores)
        if run.gateway_cores() <= count * cores * BUSY:
            return run
    sys.exit(
        f"no number of gateways of {cores} cores bears this fleet: of {MOST_GATEWAYS:,} each is to work for"
        f" {run.gateway_cores() / MOST_GATEWAYS:.3g} cores, {run.hearing(cores):.3g} of it to hear of sessions"
    )


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
    ways = [("HTTP/2 to the gateway", 1.0), ("HTTP/1.1, six connections", 6.0)]
    ways.append(("a load balancer that sends each request to any gateway", 0))
    rows = []
    for name, met in ways:
        fleet = Fleet(met=met)
        rows.append([name, fleet.reads / fleet.requests * fleet.burst, fleet.reads, fleet.commands, fleet.shard().work])
    head = ["how the requests of a page arrive", "reads per page", "reads a second", "commands a second"]
    head.append("busy share of a primary")
    return table(head, rows)


def broadcast_table() -> str:
    rows = []
    for hours in [4, 1 / 3]:
        for gateways in [10, 100, 300, 1000, 3000]:
            fleet = Fleet(gateways=gateways, life=hours * 3600)
            shard = fleet.shard()
            told = [shard.work + shard.telling(), shard.telling(), shard.turn()]
            heard = [fleet.hearing(1), fleet.hearing(fleet.loops), fleet.heard_bytes() / 1e6]
            rows.append([f"{hours * 60:.0f} minutes", gateways, fleet.keys, *told, *heard])
    head = ["a session lives", "gateways", "keys a second", "busy share of a primary", "its share for notifying", "ms per turn"]
    head += ["share of a gateway's first loop for notifications", "of all its loops", "MB a second in all"]
    return table(head, rows)


def storm_table() -> str:
    kinds = [("users sign out", SIGN_OUT, None), ("an operator signs users out", USER_ENDED, None)]
    kinds.append(("one `sessions end --all`", USER_ENDED, ONE_BY_ONE))
    rows = []
    for name, end, each in kinds:
        for gateways in [100, 1000]:
            for ended in [100_000, 1_000_000, 10_000_000] if each is None else [100_000, 1_000_000]:
                fleet, seconds = Fleet(gateways=gateways), 60 if each is None else ended * each
                are_all = "yes" if are_remembered(fleet, ended, seconds) else "no"
                rows.append([name, gateways, ended, round(seconds), *storm(fleet, end, ended, seconds), are_all])
    head = ["what", "gateways", "how many", "requested within (s)", "busy share of a primary", "done after (s)"]
    return table([*head, "gateways notified after (s)", "all remembered for a failover"], rows)


def failover_table() -> str:
    rows = []
    for gateways in [10, 100, 1000]:
        fleet = Fleet(gateways=gateways)
        ends, *taken = reread(fleet)
        rows.append([gateways, ends * fleet.shards, ends, *taken])
    head = ["gateways", "ends that each gateway remembers", "for one primary", "time of the new primary's core (s)"]
    head.append("longest wait of another command (ms)")
    return table(head, rows)


def region_table() -> str:
    rows = []
    for minutes in [1, 5, 30]:
        lost = lost_region(Fleet(sessions=10e6 / 3, requests=1e6 / 3, gateways=34, shards=6), 3, minutes)
        rows.append([minutes, *lost.values()])
    head = ["minutes", "sign-ins a second, each region", "busy share of a primary"]
    head += ["busy gateway cores, sign-ins by password", "by OpenID", "GiB in Redis"]
    return table(head, rows)


def price_table() -> str:
    rows = []
    for cloud, price in PRICES.items():
        for name, fleet in [
            ("10 million sessions, 1 million requests a second", Fleet()),
            ("1 million sessions, 10,000 requests a second", Fleet(sessions=1e6, requests=1e4, shards=1)),
        ]:
            parts = monthly(fleet, price)
            machines = parts.pop("machines")
            total = sum(parts.values())
            rows.append([cloud, name, machines, *parts.values(), total, total / fleet.sessions * 1e6])
    head = ["prices", "fleet", "gateways", "$ for gateways", "$ for Redis", "$ for traffic between zones", "$ for replication"]
    return table([*head, "$ in all", "$ per million sessions"], rows)


def source_table() -> str:
    rows = []
    for cloud, prices in PRICES.items():
        for price in prices.values():
            site = price.source.split("/")[2].removeprefix("www.")
            rows.append([cloud, price.of, f"{price.dollars:.4g}", f"[{site}]({price.source})", price.read])
    return table(["cloud", "what", "$", "where", "read on"], rows)


TABLES = {
    "reads": reads_table,
    "broadcast": broadcast_table,
    "storm": storm_table,
    "failover": failover_table,
    "region": region_table,
    "price": price_table,
    "source": source_table,
}


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
