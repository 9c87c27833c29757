#!/usr/bin/env python3
"""Mixed load with faults: two gateways over a Redis with a replica and sentinels, a provider, two servers of an app.

    deploy/bench/mixed.py [--minutes 120] [--seed N] [--rate 120] [--binary PATH] [--out FOLDER]

Clients know which answer is right, whatever happens. Meanwhile Redis fails over and hangs, the provider is away, settings
change, gateways and servers are killed, and bursts come. FOLDER gets `samples.csv` (a row for each gateway and ten seconds)
and `verdict.json`. Exit status 1: an answer was wrong, a gateway ended by itself, or memory or descriptors were not flat.
"""

import argparse
import collections
import csv
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "mixedload"), str(ROOT.parent)]

import machine  # noqa: E402
from bursts import Bursts  # noqa: E402
from faults import Faults  # noqa: E402
from rig import Gateway, Rig  # noqa: E402
from heap import heap  # noqa: E402
from proof import prove  # noqa: E402
from streams import MoreActs  # noqa: E402
from watch import Watch  # noqa: E402
from world import Failed, Window, World, Wrong  # noqa: E402

# How often each act is done, in proportion.
QUICK = {
    "session": 40,
    "public": 8,
    "without": 5,
    "whoami": 6,
    "form_sign_in": 3,
    "native_sign_in": 3,
    "company_sign_in": 2,
    "exchange": 1.5,
    "sign_out": 15,
    "ended": 6,
    "transfer": 3,
    "replay": 3,
    "race": 1,
    "authorize": 1.5,
    "refresh": 4,
    "end_of_family": 0.5,
    "upload": 4,
    "download": 4,
}
SLOW = {"websocket": 5, "slow": 3, "broken": 4}
# So much more memory may be in use after an hour of load, in KiB, as the least of each minute: what ended within the last
# quarters of an hour is remembered, and comes and goes.
GROWTH = 4096
# What is in use and what the C library keeps, in KiB: more than the tables of a gateway and two bursts take.
MOST = 128 * 1024
SAMPLE = 10


class Mixed:
    def __init__(self, options):
        self.options = options
        self.out = options.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.world = World(options.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rig-", dir=self.out))
        self.rig = Rig(options.binary, self.folder, self.judge_line, 65_536 if options.bursts else 1000)
        self.acts = MoreActs(self.rig, self.world)
        self.faults = Faults(self.rig, self.world, random.Random(options.seed))
        self.facts = machine.facts(ROOT.parent.parent, options.binary)
        self.samples: list[dict] = []
        self.late = 0
        self.lock = threading.Lock()

    # What gateways log

    def judge_line(self, gateway: Gateway, line: bytes):
        if self.world.stops.is_set():
            return
        for prefix in [b"sps_", b"spt_", b"spr_", b"spa_", b"spx_", b"spi_", b"spc_"]:
            if prefix in line:
                self.world.report("log", f"{gateway.name} logs a token ({prefix.decode()})")
        if line.startswith(b'{"stream":"access"'):
            return
        if b'"level":"error"' not in line and b'"level":"critical"' not in line and b'"level":"warning"' not in line:
            if not line.startswith(b"{"):
                self.world.report("log", f"{gateway.name} says: {line[:300].decode(errors='replace')}")
            return
        try:
            told = json.loads(line)
        except ValueError:
            told = {"level": "error", "message": line[:200].decode(errors="replace")}
        level, message = told.get("level", ""), told.get("message", "")
        window = self.world.excuse(
            {"store", "provider", "app", gateway.name, f"broken {gateway.name}", "load"}, self.world.now()
        )
        with self.world.lock:
            self.world.log_lines[f"{level}: {message}"][window.name if window else "no fault"] += 1
        if level != "warning" and window is None:
            self.world.report("log", f"{gateway.name}: {line[:600].decode(errors='replace')}")

    # Load

    def work(self, acts: dict[str, float], rate: float):
        # Of this thread; the servers that the thread of faults starts are as nice as at first.
        os.nice(5)
        names, weights = list(acts), list(acts.values())
        due = time.monotonic()
        while not self.world.stops.is_set():
            due = max(due + random.expovariate(rate), time.monotonic() - 1)
            if self.world.stops.wait(max(0, due - time.monotonic())):
                return
            self.act(random.choices(names, weights)[0])

    def act(self, name: str):
        began = self.world.now()
        try:
            self.world.count(name, str(getattr(self.acts, name)()))
        except Failed as failure:
            window = self.world.excuse(failure.effects, began)
            for _ in range(8):
                if window:
                    break
                # A fault may have begun that is not known yet.
                time.sleep(0.5)
                window = self.world.excuse(failure.effects, began)
            if window is None and failure.is_late():
                # Redis was late on a busy machine, between two looks of the watch: few of these may be.
                window = Window("late answer of Redis", {"store"}, began)
                self.late += 1
            if window:
                self.world.excused(name, window, str(failure))
            else:
                self.world.count(name, "wrong")
                self.world.report(name, f"without a fault: {failure}", began=round(began, 2))
        except Wrong as wrong:
            self.world.count(name, "wrong")
            self.world.report(name, str(wrong), began=round(began, 2))
        except Exception as error:
            self.world.count(name, "wrong")
            self.world.report(name, f"{type(error).__name__}: {error}", began=round(began, 2))

    # Figures

    def sample(self):
        file = self.out / "samples.csv"
        with open(file, "w", newline="") as text:
            writer = None
            while not self.world.stops.wait(SAMPLE):
                for gateway in self.rig.gateways:
                    if gateway.process.poll() is not None and not gateway.may_be_gone:
                        self.world.report("gateway", f"{gateway.name} ended with status {gateway.process.returncode}")
                        gateway.start()
                        continue
                    metrics, row = gateway.metrics(), gateway.figures()
                    if not row:
                        continue
                    row = {"at": round(self.world.now(), 1), "gateway": gateway.name, "pid": gateway.process.pid} | row
                    for name in [
                        "sallyport_http_requests_in_flight",
                        "sallyport_sessions_live",
                        'sallyport_upstream_connections{state="idle"}',
                        'sallyport_upstream_connections{state="active"}',
                        "sallyport_redis_primary_changes_total",
                        "sallyport_redis_restored_ends_total",
                    ]:
                        row[name] = metrics.get(name, "")
                    row["connections"] = sum(
                        value for name, value in metrics.items() if name.startswith("sallyport_connections_open")
                    )
                    row["dropped"] = sum(
                        value for name, value in metrics.items() if name.startswith("sallyport_log_dropped_total")
                    )
                    row["cached"] = sum(
                        value for name, value in metrics.items() if name.startswith("sallyport_l1_entries")
                    )
                    # What the C library keeps of the arenas is not in use; where they cannot be walked it counts.
                    found = heap(gateway.process.pid) if gateway.process.poll() is None else None
                    row["heap_free_kib"] = found[1] // 1024 if found else 0
                    row["in_use_kib"] = row["anonymous_kib"] - row["heap_free_kib"]
                    with self.lock:
                        self.samples.append(row)
                    writer = writer or csv.DictWriter(text, list(row), extrasaction="ignore")
                    if text.tell() == 0:
                        writer.writeheader()
                    writer.writerow(row)
                text.flush()

    def slopes(self) -> dict:
        """For each gateway the longest life in the last quarter of the run: how memory and descriptors have gone."""
        quarter = self.options.minutes * 45
        lives = collections.defaultdict(list)
        for row in self.samples:
            if row["at"] >= quarter:
                lives[row["gateway"], row["pid"]].append(row)
        found = {}
        for (name, pid), rows in lives.items():
            minutes = collections.defaultdict(list)
            for row in rows:
                minutes[row["at"] // 60].append(row)
            points = [
                (minute, *(min(row[name] for row in rows) for name in ["rss_kib", "descriptors", "in_use_kib"]))
                for minute, rows in sorted(minutes.items())
            ]
            if len(points) < 4 or len(points) <= found.get(name, {}).get("minutes", 0):
                continue

            def slope(index: int) -> float:
                """The median of the slopes between all pairs of minutes, for an hour."""
                pairs = [(b[index] - a[index]) / (b[0] - a[0]) for a in points for b in points if b[0] > a[0]]
                return round(statistics.median(pairs) * 60, 1)

            found[name] = {
                "pid": pid,
                "minutes": len(points),
                "rss_kib_per_hour": slope(1),
                "descriptors_per_hour": slope(2),
                "in_use_kib_per_hour": slope(3),
                "in_use_kib_last": points[-1][3],
                "rss_kib_first": points[0][1],
                "rss_kib_last": points[-1][1],
                "rss_kib_least": min(point[1] for point in points),
                "rss_kib_most": max(row["rss_kib"] for row in rows),
                "descriptors_least": min(point[2] for point in points),
                "descriptors_most": max(row["descriptors"] for row in rows),
                "threads": sorted({row["threads"] for row in rows}),
            }
        return found

    def write(self, is_whole: bool, idle: dict | None = None) -> dict:
        with self.world.lock:
            verdict = {
                "is_whole": is_whole,
                "minutes": round(self.world.now() / 60, 1),
                "seed": self.options.seed,
                "machine": self.facts,
                "faults": self.faults.counts,
                "slopes": self.slopes(),
                "idle": idle,
                "memory_after_bursts": self.faults.memory,
                "acts": {name: dict(counts.most_common()) for name, counts in sorted(self.world.counts.items())},
                "statuses": {name: dict(counts.most_common()) for name, counts in sorted(self.world.statuses.items())},
                "requests": sum(sum(counts.values()) for counts in self.world.statuses.values()),
                "log": {line: dict(counts) for line, counts in sorted(self.world.log_lines.items())},
                "sign_out_heard_ms": self.delays(),
                "held_up": len(self.world.held_up),
                "held_up_most_ms": max((ms for _, ms in self.world.held_up), default=0),
                "wrong": list(self.world.wrong),
                "examples": dict(sorted(self.world.examples.items())),
                "windows": [
                    [window.name, round(window.start, 1), window.end and round(window.end, 1)]
                    for window in self.world.windows
                ],
            }
        (self.out / "verdict.json").write_text(json.dumps(verdict, indent=1) + "\n")
        return verdict

    def delays(self) -> dict:
        delays = sorted(self.world.sign_out_delays)
        if not delays:
            return {}
        return {
            "median": round(delays[len(delays) // 2] * 1000, 1),
            "p99": round(delays[len(delays) * 99 // 100] * 1000, 1),
            "most": round(delays[-1] * 1000, 1),
            "count": len(delays),
        }

    # The run

    def bursts(self) -> int:
        self.rig.start()
        try:
            rows = Bursts(self.rig).run()
        finally:
            self.world.stops.set()
            self.rig.stop()
        (self.out / "bursts.json").write_text(json.dumps({"machine": self.facts, "rows": rows}, indent=1) + "\n")
        return 0

    def run(self) -> int:
        self.rig.start()
        self.world.began = time.monotonic()
        base = {gateway.name: gateway.figures().get("descriptors") for gateway in self.rig.gateways}
        print(
            f"{time.strftime('%H:%M:%S')} {self.folder}: {[gateway.process.pid for gateway in self.rig.gateways]}",
            flush=True,
        )
        prove(self.acts)
        quick, slow = 12, 8
        workers = [
            threading.Thread(target=self.work, args=(QUICK, self.options.rate * 0.5 / quick), daemon=True)
            for _ in range(quick)
        ]
        workers += [threading.Thread(target=self.work, args=(SLOW, 0.3), daemon=True) for _ in range(slow)]
        sampler = threading.Thread(target=self.sample, daemon=True)
        pause = (3, 8) if self.options.minutes < 20 else (20, 50)
        minutes = self.options.minutes
        faults = threading.Thread(target=self.faults.run, args=(minutes, pause), daemon=True)
        watch = threading.Thread(target=Watch(self.rig, self.world).run, daemon=True)
        for thread in [*workers, sampler, faults, watch]:
            thread.start()
        end = self.world.began + minutes * 60
        try:
            while time.monotonic() < end:
                time.sleep(min(30, max(0.1, end - time.monotonic())))
                # From a quarter on one gateway lives on: in the last quarter its tables and pools are full, and what it
                # remembers for a quarter of an hour comes and goes.
                if time.monotonic() > self.world.began + minutes * 15:
                    self.faults.restartable = self.rig.gateways[1:]
                self.write(False)
            # A fault under way is brought to its end.
            faults.join(150)
        finally:
            self.world.stops.set()
            for thread in workers:
                thread.join(60)
        sampler.join(30)
        # Idle connections end after 75 s; those to apps after 60.
        time.sleep(90 if minutes >= 20 else 5)
        idle = {
            gateway.name: gateway.figures() | {"descriptors_at_start": base[gateway.name]}
            for gateway in self.rig.gateways
        }
        self.judge(idle)
        self.rig.stop()
        for gateway in self.rig.gateways:
            if gateway.process.returncode != 0:
                self.world.report("gateway", f"{gateway.name} ended with status {gateway.process.returncode}")
        verdict = self.write(True, idle)
        acts = sum(sum(counts.values()) for counts in self.world.counts.values())
        print(
            f"{verdict['requests']} requests in {acts} acts, {sum(self.faults.counts.values())} faults, "
            f"{len(verdict['wrong'])} wrong"
        )
        print(json.dumps(verdict["slopes"], indent=1))
        return 1 if verdict["wrong"] else 0

    def judge(self, idle: dict):
        """Late answers, memory and descriptors."""
        requests = sum(sum(counts.values()) for counts in self.world.statuses.values())
        if self.late > 5 + requests / 10_000:
            self.world.report("store", f"{self.late} answers of 503 without a fault")
        for name, figures in idle.items():
            # What may stay: connections to Redis, to sentinels, to the app's servers, and the connection of the metrics.
            allowed = (figures["descriptors_at_start"] or 0) + 12
            if self.options.minutes >= 20 and figures.get("descriptors", 0) > allowed:
                self.world.report(
                    "descriptors", f"{name} has {figures['descriptors']} when idle, at the start {allowed - 12}"
                )
        for name, slope in self.slopes().items():
            if slope["minutes"] >= 25 and slope["in_use_kib_per_hour"] > GROWTH:
                self.world.report("memory", f"{name} uses {slope['in_use_kib_per_hour']} KiB more an hour")
            if slope["rss_kib_most"] > MOST:
                self.world.report("memory", f"{name} has {slope['rss_kib_most']} KiB")
            if slope["minutes"] >= 25 and slope["descriptors_per_hour"] > 2:
                self.world.report("descriptors", f"{name} opens {slope['descriptors_per_hour']} more an hour")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--rate", type=float, default=120, help="requests a second, about")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT.parent.parent / ".build/release/sallyport")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT.parent.parent / ".build/mixed")
    parser.add_argument("--bursts", action="store_true", help="only show what bursts take of a gateway's memory")
    parser.add_argument("--check", action="store_true", help="only look whether every act that has a share is there")
    options = parser.parse_args()
    if options.check:
        unknown = [name for name in {**QUICK, **SLOW} if not callable(getattr(MoreActs, name, None))]
        print(f"unknown acts: {', '.join(unknown)}" if unknown else "all acts are there")
        return 1 if unknown else 0
    options.binary, options.out = options.binary.resolve(), options.out.resolve()
    machine.raise_file_limit()
    return Mixed(options).bursts() if options.bursts else Mixed(options).run()


if __name__ == "__main__":
    sys.exit(main())
