"""What is right for apps that follow their provider, and who finds it wrong."""

import collections
import threading
import time

# `refresh_token.confirm_every` of the app, in seconds. The provider's clock and the gateway's are the same.
CONFIRM = 60
# The longest that a refresh waits for the provider, and what it costs beside that on a busy machine, in seconds.
WAIT, BESIDE = 3, 0.7
# Renewals under way in one gateway (`ProviderGrants.mostRenewals`).
MOST = 32
# So many refreshes, beside one in a thousand, may fail because Redis was late.
FEW = 5
# So many refreshes of a user whom the provider has disabled may be served: one that was asked too early, and one whose
# question found no place.
LATE = 3


class Judge:
    """Counts what happens, and notes what is wrong."""

    def __init__(self, gateways: int):
        self.lock = threading.Lock()
        self.most = MOST * gateways
        self.wrong: list[str] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self.waits: dict[str, list[float]] = collections.defaultdict(list)
        self.phase = "sign-in"
        self.asking = 0
        self.most_asking = 0
        # When the provider last said yes about each user.
        self.said_yes: dict[str, float] = {}
        # The users whom it has disabled, those about whom it has said so, and how often each was served since.
        self.disabled: dict[str, float] = {}
        self.said_no: set[str] = set()
        self.served: collections.Counter[str] = collections.Counter()

    def report(self, what: str):
        with self.lock:
            self.counts["wrong"] += 1
            if len(self.wrong) < 40:
                self.wrong.append(f"{self.phase}: {what}")

    # The provider

    def begins(self):
        with self.lock:
            self.asking += 1
            self.most_asking = max(self.most_asking, self.asking)
            is_many = self.asking > self.most
        if is_many:
            self.report(f"more than {self.most} calls at once")

    def ends(self):
        with self.lock:
            self.asking -= 1

    def yes(self, user: str, now: float):
        former = self.said_yes.get(user)
        self.said_yes[user] = now
        self.counts[f"{self.phase}: yes"] += 1
        if former is not None and now - former < CONFIRM - 1:
            self.report(f"{user} was asked about after {now - former:.1f} s")

    def no(self, user: str):
        self.said_no.add(user)
        self.counts[f"{self.phase}: no"] += 1

    def given_up(self):
        self.counts[f"{self.phase}: given up"] += 1

    def reused(self, user: str):
        self.report(f"a refresh token of {user} came twice")

    # The apps

    def refreshed(self, user: str, status: int, text: str, took: float) -> bool:
        """Whether the app goes on."""
        self.waits[self.phase].append(took)
        if took > WAIT + BESIDE:
            self.report(f"a refresh took {took:.2f} s")
        if status == 200:
            self.counts[f"{self.phase}: refreshed"] += 1
            self.goes_on(user)
            return True
        if status == 503:
            self.unavailable()
            return True
        if user in self.disabled and user in self.said_no and '"invalid_grant"' in text:
            self.counts[f"{self.phase}: ended"] += 1
            return False
        self.report(f"a refresh of {user} was refused: {status} {text[:200]}")
        return False

    def unavailable(self):
        """The store was late on a busy machine: few refreshes may get 503, and they can be repeated."""
        self.counts["unavailable"] += 1
        if self.counts["unavailable"] > FEW + sum(map(len, self.waits.values())) / 1000:
            self.report("503, more often than a busy machine explains")

    def goes_on(self, user: str):
        if user not in self.disabled:
            return
        self.served[user] += 1
        if user in self.said_no or self.served[user] > LATE:
            self.report(f"{user} was served {time.time() - self.disabled[user]:.0f} s after the account was disabled")

    def figures(self) -> dict:
        def shown(took: list[float]) -> dict[str, float]:
            took = sorted(took)
            return {"p50": round(took[len(took) // 2], 3), "most": round(took[-1], 3), "count": len(took)}

        return {
            "counts": dict(sorted(self.counts.items())),
            "seconds": {phase: shown(took) for phase, took in self.waits.items()},
            "most_calls_at_once": self.most_asking,
            "wrong": self.wrong,
        }


def prove():
    """Lets a judge see what is wrong, each by itself; raises if it does not notice."""

    def judged(*steps) -> list[str]:
        judge = Judge(2)
        for step in steps:
            step(judge)
        return judge.wrong

    def disable(judge: Judge):
        judge.disabled["ada"] = time.time()

    served = [lambda judge: judge.refreshed("ada", 200, "", 0.1)]
    right = [lambda judge: judge.yes("ada", 0), lambda judge: judge.yes("ada", CONFIRM), *served, disable, *served]
    right += [lambda judge: judge.no("ada"), lambda judge: judge.refreshed("ada", 403, '{"error":"invalid_grant"}', 1)]
    assert judged(*right) == [], judged(*right)
    wrongs = {
        "refused": [lambda judge: judge.refreshed("ada", 403, '{"error":"invalid_grant"}', 0.1)],
        "outage": [lambda judge: judge.refreshed("ada", 503, "", 0.1)] * (FEW + 2),
        "late": [lambda judge: judge.refreshed("ada", 200, "", WAIT + 1)],
        "often": [lambda judge: judge.yes("ada", 0), lambda judge: judge.yes("ada", CONFIRM / 2)],
        "twice": [lambda judge: judge.reused("ada")],
        "many": [lambda judge: judge.begins()] * (2 * MOST + 1),
        "after the no": [disable, lambda judge: judge.no("ada"), *served],
        "never asked": [disable, *served * (LATE + 1)],
    }
    for name, steps in wrongs.items():
        assert judged(*steps), f"the judge does not notice: {name}"
