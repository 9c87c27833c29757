"""Sees what is no fault of the schedule: failovers that Sentinel begins by itself, and a machine that is held up."""

import contextlib
import time

from counted import Redis
from rig import GONE, NAME, Rig
from world import World

# A write that no replica has confirmed within 50 ms is refused: an answer later than this is near that.
HELD_UP = 0.03


class Watch:
    def __init__(self, rig: Rig, world: World):
        self.rig, self.world = rig, world
        self.connections: dict[int, Redis] = {}

    def ask(self, port: int, *words: str):
        try:
            if port not in self.connections:
                self.connections[port] = Redis(port)
                self.connections[port].connection.settimeout(2)
            return self.connections[port].ask(*words)
        except (OSError, ValueError):
            if connection := self.connections.pop(port, None):
                with contextlib.suppress(OSError):
                    connection.close()
            return None

    def run(self):
        window, primary, calm = None, None, 0.0
        while not self.world.stops.wait(0.2):
            is_planned = any(
                "store" in known.effects and known is not window for known in self.world.windows if known.end is None
            )
            began = time.monotonic()
            answers = [self.ask(node.port, "PING") for node in self.rig.nodes]
            delay = time.monotonic() - began
            told = self.ask(self.rig.sentinels[0].port, "SENTINEL", "MASTER", NAME)
            facts = dict(zip(told[::2], told[1::2])) if isinstance(told, list) else {}
            is_ill = facts.get("flags") != "master" or primary is not None and facts.get("port") != primary
            primary = facts.get("port") or primary
            if is_planned:
                calm = time.monotonic()
            elif is_ill or None in answers:
                if window is None and time.monotonic() - calm > 8:
                    window = self.world.begin("failover by itself", {"store"})
                    window.start -= 6
            elif window:
                with contextlib.suppress(*GONE):
                    if self.rig.in_step() and self.rig.ready():
                        self.world.finish(window)
                        window = None
            elif delay > HELD_UP:
                with self.world.lock:
                    self.world.held_up.append((self.world.now() - delay, round(delay * 1000)))
