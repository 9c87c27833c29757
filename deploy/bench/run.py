#!/usr/bin/env python3
"""Measures one table and writes its figures: README.md beside this says what the tables are and how they are measured.

    deploy/bench/run.py TABLE [--binary PATH] [--rounds N] [--seconds S] [--out FOLDER]
    deploy/bench/run.py --check

TABLE.json gets every figure of every burst, and FIGURES.md what they come to, for all tables in the folder. Exit status 1:
a request failed, and the figures are not to be used. --check measures nothing: it looks whether the tables are whole.
"""

import argparse
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import machine
import page
from kinds import HERE, KINDS
from loads import Kept
from servers import Bench, Server, running, seed
from tables import TABLES, Row, Share

ROOT = HERE.parent.parent
# Before a server is measured, in seconds: its caches fill, and its connections to the app are made.
WARM_UP = 1


def measure(bench: Bench, rows: list[Row], rounds: int, seconds: float, names: list[str]) -> list[dict]:
    """One sample for each row, server and round: its figures, and the anchor's before and after it."""
    samples = []
    for number in range(rounds):
        for row in rows:
            present = [name for name in ["sallyport", *row.peers] if name in names]
            # The host's speed drifts within a round, and no server has the best of it each time.
            random.shuffle(present)
            for name in present:
                sample = {"round": number, "row": row.name, "server": name, **compare(bench, row, name, seconds)}
                samples.append(sample)
                print(page.line(row, sample), flush=True)
    return samples


def compare(bench: Bench, row: Row, name: str, seconds: float) -> dict:
    """Starts a server and the anchor anew, and measures the server between two bursts of the anchor."""
    with contextlib.ExitStack() as stack:
        # One that may open too few files alone shares its core with others like it.
        beside = {"PROCESSES": max(1, -(-row.other_files // machine.file_limit()))}
        if row.has_redis:
            redis = stack.enter_context(running(bench, "redis", {}))
            seed(redis.target.port)
            beside["REDIS"] = redis.target.port
        app = stack.enter_context(running(bench, row.app, {})).target
        beside |= {"APP": app.port, "OTHER_APP": app.tls_port}
        anchor, server = (
            stack.enter_context(running(bench, kind, beside, row.settings, row.is_logging)) for kind in [row.anchor, name]
        )
        load = row.load
        for each in [anchor, server]:
            prove(each, row)
            burst(bench, row, Kept() if isinstance(load, Share) else load, each, WARM_UP)
        if isinstance(load, Share):
            # The time of an answer says nothing when the server is asked more than it can do.
            load = load.steady(min(burst(bench, row, Kept(), each, seconds)["rate"] for each in [anchor, server]))
        before, own, after = (burst(bench, row, load, each, seconds) for each in [anchor, server, anchor])
        return {"figures": own, "before": before, "after": after}


def prove(server: Server, row: Row):
    """Ends the run unless the server does its work: the app is told the user, and nobody else can tell it."""
    if row.is_check:
        return
    is_gateway = server.name == "sallyport"
    subject = "X-User-Id" if "X-User-Id" in row.settings else "X-Auth-Subject"
    forged = {subject: "admin"} if is_gateway else {}
    credentials = {"Authorization": f"Bearer {server.tokens[0]}"}
    status, told = ask(server, "/told", {"Host": "localhost"} | credentials | forged)
    if status != 200 or (is_gateway and ("u-" not in told or "admin" in told)):
        sys.exit(f"{server.name}: {status} {told}")
    if is_gateway and (refused := ask(server, row.request.path.replace("/public", ""), {"Host": "localhost"})[0]) != 401:
        sys.exit(f"{server.name}: {refused} without a token")


def ask(server: Server, path: str, fields: dict[str, str]) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.target.port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")


def burst(bench: Bench, row: Row, load, server: Server, seconds: float) -> dict[str, float]:
    """Lets the load run, and returns its figures: cost and rate for each unit, waits, memory, errors."""
    target, request = server.target, row.request
    if row.is_check and server.name == "sallyport":
        target = dataclasses.replace(target, port=target.checks)
    if request.tokens:
        request = dataclasses.replace(request, tokens=server.tokens)
    used = server.cpu()
    done = load.run(target, request, seconds, bench.folder, bench.load_core)
    used = server.cpu() - used
    units = done["requests"]
    if row.unit == "MiB":
        units = (done["requests"] * request.body if request.body else done["bytes"]) / 2**20
    if units == 0:
        # Nothing was answered, which is an error, not a cost of 0.
        units, done["errors"] = 1, done["errors"] + 1
    waits = {name: value for name, value in done.items() if name.endswith("_us")}
    own = {"cost_us": used / units * 1e6, "rate": units / done["seconds"], "memory_mib": server.memory()}
    return own | waits | {"errors": done["errors"]}


def failures(samples: list[dict]) -> list[str]:
    return [
        f"{sample['row']}: {sample['server']} or its anchor had {count} errors"
        for sample in samples
        if (count := sum(sample[burst]["errors"] for burst in ["figures", "before", "after"]))
    ]


def affordable(rows: list[Row], limit: int) -> tuple[list[Row], dict[str, str]]:
    """What can be measured where a process may open so many files; and what the rest needs, by its name."""
    missing = {row.name: f"ulimit -Hn {row.files}" for row in rows if row.files > limit}
    rows = [row for row in rows if row.files <= limit]
    few = [row for row in rows if row.other_files > limit]
    missing |= {f"{row.name} with {name}": f"ulimit -Hn {row.other_files}" for row in few for name in row.peers}
    return [dataclasses.replace(row, peers=()) if row in few else row for row in rows], missing


def check() -> list[str]:
    """What is wrong with the tables, without a server."""
    wrong = []
    for table, rows in TABLES.items():
        if len({row.name for row in rows}) != len(rows):
            wrong.append(f"{table}: two rows have one name")
        for row in rows:
            wrong += [f"{table}: {kind} is no server" for kind in {row.anchor, row.app, *row.peers} - set(KINDS)]
            # A page shows half of the anchor's figures as that.
            own = dict.fromkeys(["cost_us", "rate", "memory_mib", "p50_us", "p99_us"], 1.0) | {"errors": 0}
            sample = {"row": row.name, "server": "sallyport", "figures": own}
            sample |= dict.fromkeys(["before", "after"], {name: 2 * value for name, value in own.items()})
            if "| 0.50" not in page.written(row, "sallyport", [own], [page.ratio(row, sample)]):
                wrong.append(f"{table}: {row.name} is not compared")
    for name, kind in KINDS.items():
        if kind.file and not (HERE / "servers" / kind.file).exists():
            wrong.append(f"{name}: servers/{kind.file} is missing")
    text = (HERE / "README.md").read_text()
    wrong += [f"{table}: README.md does not say what it is" for table in TABLES if f"| `{table}` |" not in text]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", choices=TABLES, metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/release/sallyport")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=8, help="of each burst")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / ".build/bench")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        print("\n".join(wrong := check()) or "the tables are whole")
        return 1 if wrong else 0
    if not arguments.table:
        parser.error("which TABLE?")
    machine.raise_file_limit()
    rows, few = affordable(TABLES[arguments.table], machine.file_limit())
    kinds = {name for row in rows for name in [row.anchor, row.app, *row.peers, *(["redis"] if row.has_redis else [])]}
    missing = {name: what for name in sorted(kinds) if (what := KINDS[name].missing())}
    missing |= few
    if needed := {name for name in missing if any(name in [row.anchor, row.app] for row in rows)}:
        parser.error(", ".join(f"{name} needs {missing[name]}" for name in needed))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.chmod(folder, 0o755)
        bench = Bench(arguments.binary, pathlib.Path(folder), machine.cores())
        began = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        names = ["sallyport", *kinds.difference(missing)]
        samples = measure(bench, rows, arguments.rounds, arguments.seconds, names)
    arguments.out.mkdir(parents=True, exist_ok=True)
    conditions = {"began": began, "rounds": arguments.rounds, "seconds": arguments.seconds, "missing": missing}
    facts = {"table": arguments.table, **conditions, **machine.facts(ROOT, arguments.binary), "samples": samples}
    (arguments.out / f"{arguments.table}.json").write_text(json.dumps(facts, indent=1) + "\n")
    (arguments.out / "FIGURES.md").write_text(page.text(arguments.out))
    for failure in (wrong := failures(samples)):
        print(failure, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
