#!/usr/bin/env python3
"""Reads the events of swift test (--event-stream-output-path), one JSON object a line.

deploy/test-report.py failed LIMIT EVENTS    prints a filter for each failed test; fails if there are none or more than LIMIT
deploy/test-report.py summary FOLDER         prints why tests of the runs in FOLDER were skipped, and the ten slowest suites

An xunit report would not do: a NUL in a message cuts it off, and other control characters make it invalid.
Beside RUN.jsonl, RUN.turns may say when tests that have to wait for their turn had it: START END TEST, in seconds since 1970.
"""

import collections
import json
import pathlib
import re
import sys

# "Tests.Suite/Inner/test()/File.swift:5:6" is a test function. The id of a suite ends with its name.
PLACE = re.compile(r"/[^/]*\.swift:\d+:\d+$")


def events(path):
    """The events of a run, without a last line that was cut off when the run was killed."""
    for line in path.read_text("utf-8", "replace").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record["kind"] == "event":
            yield record["payload"]


def failed(limit, run):
    """Prints a filter for each failed test."""
    if not any(event["kind"] == "runEnded" for event in run):
        sys.exit("the test process ended early: none is repeated")
    issues = [event for event in run if event["kind"] == "issueRecorded" and event["issue"]["isFailure"]]
    tests = dict.fromkeys(PLACE.sub("", event.get("testID", "")) for event in issues)
    if "" in tests or not 1 <= len(tests) <= limit:
        sys.exit(f"{len(tests)} tests failed, and {limit} more may be repeated: none is repeated")
    for test in tests:
        print("^" + re.escape(test) + "/")


def skipped(run):
    """The reason of each test that was skipped, also if only some of its arguments were."""
    reasons, partly = {}, set()
    for event in run:
        test = event.get("testID", "")
        text = "".join(message["text"] for message in event["messages"][:1])
        if event["kind"] == "testSkipped" and PLACE.search(test):
            reason = re.search(r' skipped: "(.*)"$', text, re.DOTALL)
            reasons[test] = reason[1] if reason else "no reason given"
        elif event["kind"] == "testCaseCancelled":
            partly.add(test)
        elif event["kind"] == "testEnded" and test in partly:
            reason = re.search(r' was cancelled after [^:]*: "(.*)"$', text, re.DOTALL)
            # Swift Testing keeps no reason for single arguments.
            name = re.sub(r"^Test | with \d+ test cases? .*$", "", text, flags=re.DOTALL)
            reasons[test] = reason[1] if reason else f"some arguments of {name}"
    return reasons


def seconds(run, turns):
    """The seconds of each test. Every moment of a run is divided among the tests that run in it."""
    started, spans = {}, collections.defaultdict(list)
    for event in run:
        test, now = event.get("testID", ""), event["instant"]["since1970"]
        if event["kind"] == "testStarted" and PLACE.search(test):
            started[test] = now
        elif event["kind"] == "testEnded" and test in started:
            spans[test] = [(started[test], now)]
    waited = collections.defaultdict(list)
    for start, end, test in turns:
        waited[test].append((float(start), float(end)))
    spans.update(waited)
    changes = sorted((at, sign, test) for test in spans for span in spans[test] for at, sign in zip(span, (1, -1)))
    count, last, share, shares = 0, 0, 0, collections.Counter()
    for at, sign, test in changes:
        share += (at - last) / count if count else 0
        shares[test] -= sign * share
        count, last = count + sign, at
    return shares


def summary(folder):
    """Prints why tests were skipped, and the slowest suites."""
    tests, reasons, slow, total = set(), {}, collections.Counter(), 0
    for path in sorted(folder.glob("*.jsonl")):
        run = list(events(path))
        tests |= {event["testID"] for event in run if PLACE.search(event.get("testID", ""))}
        reasons.update(skipped(run))
        turns = path.with_suffix(".turns")
        lines = turns.read_text("utf-8").splitlines() if turns.exists() else []
        for test, share in seconds(run, [line.split(" ", 2) for line in lines]).items():
            slow[PLACE.sub("", test).rpartition("/")[0]] += share
            total += share
    print(f"skipped: {len(reasons)} of {len(tests)} tests")
    for reason, count in collections.Counter(reasons.values()).most_common():
        print(f"{count:6}  {reason}")
    print(f"the slowest suites, of {total:.0f} s:")
    for suite, share in slow.most_common(10):
        print(f"{share:6.1f}  {suite}")


if __name__ == "__main__":
    if sys.argv[1] == "failed":
        failed(int(sys.argv[2]), list(events(pathlib.Path(sys.argv[3]))))
    else:
        summary(pathlib.Path(sys.argv[2]))
