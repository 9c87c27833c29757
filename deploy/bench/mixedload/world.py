"""What is known to be right: who is signed in, what has ended, which faults are under way; and what was wrong."""

import collections
import dataclasses
import json
import random
import threading
import time

# How long after a fault its effects may still be seen.
GRACE = 6.0
# Within this time another gateway hears of a sign-out, and within the second one if its connection for news is broken.
SOON, PROMISED = 1.5, 6.5
# Transfer tokens from before a failover are refused for as long as they live.
QUARANTINE = 70.0


@dataclasses.dataclass(eq=False)
class Session:
    """A session as its user has it; what came of it by a transfer ends with it."""

    kind: str
    token: str
    user: str
    email: str
    origin: str
    source: str
    parent: "Session | None" = None
    made: float = dataclasses.field(default_factory=time.monotonic)
    # The time of the answer that confirmed its end, and the gateway that gave it.
    ended: float | None = None
    ended_at: str = ""
    # Its end was asked for, and nothing or a refusal was answered.
    is_doubtful: bool = False

    def fields(self) -> dict[str, str]:
        return (
            {"Authorization": f"Bearer {self.token}"}
            if self.kind == "bearer"
            else {"Cookie": f"sallyport={self.token}"}
        )

    def is_live(self) -> bool:
        return self.ended is None and not self.is_doubtful and (self.parent is None or self.parent.is_live())

    def end(self) -> float | None:
        ends = [end for end in [self.ended, self.parent.end() if self.parent else None] if end is not None]
        return min(ends, default=None)


@dataclasses.dataclass
class Window:
    """A fault, and what may fail by it: store, provider, app, or the name of a gateway."""

    name: str
    effects: set[str]
    start: float
    end: float | None = None


class Wrong(Exception):
    """An answer that no fault excuses."""


class Failed(Exception):
    """An answer that only a fault excuses which has one of the effects."""

    def __init__(self, text: str, effects: set[str], took: float = 0):
        super().__init__(text)
        self.effects, self.took = effects, took

    def is_late(self) -> bool:
        """Whether Redis may have taken longer than a gateway waits: 50 ms for a replica's confirmation, 100 ms for an
        answer. It does when it forks, to write its append-only file anew."""
        return "store" in self.effects and self.took >= 0.045


class World:
    def __init__(self, seed: int):
        self.lock = threading.Lock()
        self.began = time.monotonic()
        self.seed = seed
        self.browsers: list[Session] = []
        self.natives: list[Session] = []
        self.families: list[dict] = []
        self.ended: collections.deque[Session] = collections.deque(maxlen=400)
        self.used: collections.deque[tuple[str, str]] = collections.deque(maxlen=400)
        self.accepted = collections.Counter()
        self.windows: list[Window] = []
        self.quarantine = (0.0, 0.0)
        # When the machine was held up, and for how many milliseconds.
        self.held_up: collections.deque[tuple[float, int]] = collections.deque(maxlen=100_000)
        self.counts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self.statuses: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self.wrong: list[dict] = []
        self.log_lines: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        # The first refusals by each fault, as examples.
        self.examples: dict[str, list[str]] = collections.defaultdict(list)
        self.sign_out_delays: list[float] = []
        self.stops = threading.Event()

    def now(self) -> float:
        return time.monotonic() - self.began

    # Pools

    def take(self, pool: list, keep: int = 0):
        """One at random, which nobody else has until it is put back; nil if there are no more than `keep`."""
        with self.lock:
            if len(pool) <= keep:
                return None
            index = random.randrange(len(pool))
            pool[index], pool[-1] = pool[-1], pool[index]
            return pool.pop()

    def put(self, pool: list, one):
        with self.lock:
            pool.append(one)

    # Faults

    def begin(self, name: str, effects: set[str]) -> Window:
        window = Window(name, effects, self.now())
        with self.lock:
            self.windows.append(window)
        return window

    def finish(self, window: Window):
        window.end = self.now()
        if "store" in window.effects:
            self.quarantine = (window.start, window.end + QUARANTINE)

    def excuse(self, effects: set[str], start: float, grace: float = GRACE) -> Window | None:
        """A fault with one of these effects since `start`."""
        with self.lock:
            windows = self.windows[-12:]
        for window in windows:
            if window.effects & effects and (window.end is None or window.end + grace >= start):
                return window
        # What Redis confirms too late on a busy machine is refused.
        if "store" in effects and any(start - 1 <= at <= self.now() for at, _ in list(self.held_up)[-40:]):
            return Window("busy machine", {"store"}, start)
        return None

    def is_quarantined(self, start: float) -> bool:
        return bool(self.excuse({"store"}, start)) or start <= self.quarantine[1]

    # What was seen

    def count(self, act: str, result: str):
        with self.lock:
            self.counts[act][result] += 1

    def excused(self, act: str, window: Window, text: str):
        self.count(act, f"failed: {window.name}")
        with self.lock:
            known = self.examples[f"{window.name}: {act}"]
            if len(known) < 6:
                known.append(f"{self.now() - window.start:.1f} s: {text[:300]}")

    def saw(self, act: str, status: int):
        with self.lock:
            self.statuses[act][str(status)] += 1

    def report(self, act: str, text: str, **more):
        """Something is wrong."""
        entry = {"at": round(self.now(), 2), "clock": time.strftime("%H:%M:%S"), "act": act, "what": text[:900]} | more
        with self.lock:
            entry["windows"] = [
                [window.name, round(window.start, 1), window.end and round(window.end, 1)]
                for window in self.windows[-3:]
            ]
            self.wrong.append(entry)
        print("WRONG", json.dumps(entry), flush=True)
