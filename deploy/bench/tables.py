"""The tables: which shapes of load each has, what it is compared with, and what is promised.

A new table is one more entry of TABLES: `run.py`, its pages and its check know no others.
"""

import dataclasses

from costs import CHECKS, DEFAULTS, FOUR_HEADERS, TRACES
from loads import Beside, Frames, Kept, Request, Steady, Streams
from servers import FILES, TOKENS

API = Request("/api/items/1", TOKENS)
PEERS = ("haproxy", "caddy", "envoy")
NINE_HEADERS = "log: {access: false}\n"
UNCACHED = FOUR_HEADERS + 'store: {cached_sessions: 0, redis: {url: "redis://127.0.0.1:@REDIS@"}}\n'
# The app has two addresses.
SERVERS = FOUR_HEADERS + 'upstreams: {several: {servers: ["http://127.0.0.1:@APP@", "http://127.0.0.1:@OTHER_APP@"]}}\n'
# The app takes the spans as well: it answers every request.
TRACED = TRACES.replace("{collector}", "@APP@")
# Handshakes of one address are limited; those of a trusted proxy are not.
NEW_TLS = FOUR_HEADERS + "trusted_proxies: [127.0.0.1/32]\n"


@dataclasses.dataclass(frozen=True)
class Share:
    """The load of openloop.c at this share of the highest rate of the slower one of the two that are compared."""

    share: float

    def steady(self, top: float) -> Steady:
        return Steady(self.share * top)


@dataclasses.dataclass(frozen=True)
class Row:
    """A shape of load.

    - request: with tokens, which are replaced by those that the server knows
    - settings: of the gateway
    - anchor: with what every server is compared
    - figure: what is compared: `cost_us` is CPU time for each unit
    - goal: what the gateway's share of the anchor's figure may be
    """

    name: str
    load: Kept | Streams | Frames | Steady | Beside | Share
    request: Request = API
    settings: str = FOUR_HEADERS
    anchor: str = "nginx"
    peers: tuple[str, ...] = PEERS
    app: str = "app"
    unit: str = "request"
    figure: str = "cost_us"
    goal: float | None = None
    has_redis: bool = False
    is_logging: bool = False
    is_check: bool = False
    # How many files the gateway and the load must be able to open. The gateway has 1024 connections to the app, and keeps a
    # sixth of its room for addresses whose users are signed in.
    files: int = 0
    # How many the others must: they have one connection to the app for each client's. The anchor has several processes
    # where one may open fewer, on the same core; the peers are left out there.
    other_files: int = 0


def checks(dialect: str, path: str, *fields: str) -> list[Row]:
    """Checks by another proxy of the request of the other tables: what one costs, and how long it takes when they are few.
    That is under 2 ms at the 99th percentile: Envoy waits 200 ms, and the user waits for both."""
    request = Request(path, TOKENS, fields)
    settings = CHECKS.replace("{checks}", "@CHECKS@")
    cost = Row(dialect, Kept(least=0), request, settings, "nginx-checks", (), is_check=True)
    return [cost, dataclasses.replace(cost, name=f"{dialect}_waits", load=Steady(1000, connections=64), figure="p99_us")]


def transfer(name: str, size: int, path: str, body: int = 0) -> Row:
    """A body towards the client, or with `body` towards the app; its cost is for each MiB."""
    load = Kept(4 if size > 2**20 else 32, least=1024 if body else size)
    return Row(name, load, Request(path, TOKENS, (), body), unit="MiB")


def connections(count: int) -> Row:
    return Row(f"{count}_connections", Kept(count), files=count * 5 // 4 + 1200, other_files=2 * count + 500)


def latency(share: float) -> Row:
    return Row(f"{share:.0%} of the top rate", Share(share), figure="p99_us", goal=1.0)


TABLES: dict[str, list[Row]] = {
    "requests": [
        Row("cached_session", Kept(), goal=0.80),
        Row("nine_headers", Kept(), settings=NINE_HEADERS),
        Row("public_route", Kept(), Request("/public/items/1")),
        Row("defaults_and_log", Kept(), settings=DEFAULTS, goal=0.85, is_logging=True),
        Row("two_servers", Kept(), settings=SERVERS, peers=()),
        *[
            Row(name, Kept(), settings=f"{TRACED}{ratio}\n")
            for name, ratio in [("traces_ratio_0", 0), ("traces_1_percent", 0.01), ("traces_on", 1)]
        ],
        Row("new_connection", Kept(is_closing=True), goal=0.95),
    ],
    "redis": [
        # Fewer connections than tokens, as one read serves all who ask at the same time.
        Row("uncached_session", Kept(32), settings=UNCACHED, anchor="nginx-redis", peers=(), goal=0.55, has_redis=True),
    ],
    "handshakes": [
        # Their answers come within 5 ms, at the 99th percentile.
        Row(
            f"beside_{count}_handshakes",
            Beside(Steady(1000, connections=64), count),
            settings=NEW_TLS,
            peers=(),
            figure="p99_us",
            goal=1.0 if count == 2000 else None,
        )
        for count in [500, 2000]
    ],
    "tls": [
        Row("kept", Kept(is_tls=True), goal=0.95),
        Row("new_connection", Kept(is_tls=True, is_closing=True), settings=NEW_TLS),
        Row("http2_1_stream", Streams(64, 1), goal=0.75),
        Row("http2_10_streams", Streams(8, 10), goal=0.75),
    ],
    "connections": [connections(count) for count in [512, 2000, 10_000]],
    "bodies": [
        *[transfer(f"download_{name}", size, f"/files/{name}") for name, size in FILES.items()],
        *[
            Row(f"download_100MiB_{kind}", load, Request("/files/100MiB", TOKENS), unit="MiB", goal=1.0)
            for kind, load in [("tls", Kept(4, is_tls=True, least=FILES["100MiB"])), ("http2", Streams(4, 1))]
        ],
        *[transfer(f"upload_{name}", FILES[name], "/uploads", FILES[name]) for name in ["64KiB", "1MiB"]],
    ],
    "websocket": [Row("frames", Frames(), Request("/frames", TOKENS), app="frames", unit="frame")],
    "checks": [
        *checks(
            "forward_auth",
            "/authz/forward-auth",
            *["X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: localhost"],
            *["X-Forwarded-Uri: /api/items/1", "X-Forwarded-For: 127.0.0.1"],
        ),
        *checks(
            "auth_request",
            "/authz/auth-request",
            *["X-Original-Method: GET", "X-Original-URL: https://localhost/api/items/1", "X-Forwarded-For: 127.0.0.1"],
        ),
        *checks("ext_authz", "/authz/ext-authz/api/items/1", "X-Forwarded-Proto: https", "X-Forwarded-For: 127.0.0.1"),
    ],
    "latency": [latency(share) for share in [0.3, 0.6, 0.8]],
}
