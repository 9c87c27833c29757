"""The faults, one after another: each says whose answers it excuses, and ends when everything is well again."""

import contextlib
import random
import signal
import socket
import time

from client import Wire, head
from content import content
from rig import Gateway, Rig
from world import World


class Faults:
    def __init__(self, rig: Rig, world: World, random: random.Random):
        self.rig, self.world, self.random = rig, world, random
        self.kinds = {
            "redis primary killed": self.primary_killed,
            "redis failover": self.failover,
            "redis paused": self.paused,
            "redis paused briefly": self.paused_briefly,
            "replica killed": self.replica_killed,
            "provider away": self.provider_away,
            "settings changed": self.settings_changed,
            "settings broken": self.settings_broken,
            "gateway restarted": self.gateway_restarted,
            "gateway killed": self.gateway_killed,
            "app server killed": self.app_killed,
            "burst of connections": self.burst,
            "slow downloads": self.slow_downloads,
        }
        self.counts = dict.fromkeys(self.kinds, 0)
        # Gateways that may be restarted: the figures of memory need one that is not.
        self.restartable = list(rig.gateways)
        self.memory: list[dict] = []

    def run(self, minutes: float, pause: tuple[float, float]):
        """Runs faults in rounds of random order until the time is over."""
        end = self.world.began + minutes * 60
        order: list[str] = []
        while not self.world.stops.wait(self.random.uniform(*pause)):
            if time.monotonic() > end - 20:
                return
            if not order:
                order = self.random.sample(list(self.kinds), len(self.kinds))
            name = order.pop()
            print(f"{time.strftime('%H:%M:%S')} {self.world.now():7.1f} {name}", flush=True)
            try:
                self.kinds[name]()
                self.counts[name] += 1
            except Exception as error:
                self.world.report("faults", f"{name}: {error!r}")
                self.recover()

    def recover(self):
        """Starts what a fault that did not end has left behind."""
        with self.window("recovery", "store", "app", "provider", *(gateway.name for gateway in self.rig.gateways)):
            for process in [*self.rig.gateways, *self.rig.apps, self.rig.provider]:
                if process.process.poll() is not None:
                    process.start()
            for node in self.rig.nodes:
                if node.process.poll() is not None:
                    node.start(
                        "--replicaof", "127.0.0.1", next(other.port for other in self.rig.nodes if other is not node)
                    )
            with contextlib.suppress(Exception):
                self.rig.until("recovery", self.is_well, 90)

    def is_well(self) -> bool:
        self.rig.primary()
        return self.rig.in_step() and self.rig.ready()

    @contextlib.contextmanager
    def window(self, name: str, *effects: str):
        window = self.world.begin(name, set(effects))
        try:
            yield window
        finally:
            self.world.finish(window)

    # Redis

    def primary_killed(self):
        with self.window("redis primary killed", "store"):
            old = self.rig.primary()
            old.kill()
            self.rig.until("a new primary", lambda: self.rig.primary() is not old)
            new = self.rig.primary()
            time.sleep(self.random.uniform(0, 3))
            old.start("--replicaof", "127.0.0.1", new.port)
            self.rig.until("service after a failover", self.is_well, 90)

    def failover(self):
        with self.window("redis failover", "store"):
            old = self.rig.primary()
            sentinel = self.random.choice(self.rig.sentinels)
            # One that follows another too closely is refused by Sentinel.
            self.rig.until(
                "a failover", lambda: "OK" in str(self.rig.ask(sentinel, "SENTINEL", "FAILOVER", "mixed")), 30
            )
            self.rig.until("a new primary", lambda: self.rig.primary() is not old, 30)
            self.rig.until("service after a failover", self.is_well, 90)

    def paused(self, seconds: float = 5.0):
        with self.window("redis paused", "store"):
            old = self.rig.primary()
            old.signal(signal.SIGSTOP)
            time.sleep(seconds)
            old.signal(signal.SIGCONT)
            # Sentinel may be about to promote the replica.
            time.sleep(6)
            self.rig.until("service after a pause", self.is_well, 90)

    def paused_briefly(self):
        self.paused(self.random.uniform(0.3, 1.2))

    def replica_killed(self):
        with self.window("replica killed", "store"):
            primary = self.rig.primary()
            replica = next(node for node in self.rig.nodes if node is not primary)
            replica.kill()
            time.sleep(self.random.uniform(1, 6))
            replica.start("--replicaof", "127.0.0.1", primary.port)
            self.rig.until("a replica in step", self.is_well, 90)

    # The others

    def provider_away(self):
        with self.window("provider away", "provider"):
            self.rig.provider.kill()
            time.sleep(30)
            self.rig.provider.start()
            self.rig.provider.await_port()

    def app_killed(self):
        with self.window("app server killed", "app"):
            app = self.random.choice(self.rig.apps)
            app.kill()
            time.sleep(self.random.uniform(2, 10))
            app.start()
            app.await_port()
            time.sleep(2)

    def settings_changed(self):
        """Both gateways load other settings, which are in effect afterwards."""
        for gateway in self.rig.gateways:
            with self.window("settings changed", f"settings {gateway.name}"):
                edition = self.rig.edition[gateway.name] + 1
                before = gateway.metrics().get('sallyport_config_reloads_total{result="success"}', 0)
                gateway.write(EDITION=edition)
                gateway.signal(signal.SIGHUP)
                self.rig.edition[gateway.name] = edition
                name = 'sallyport_config_reloads_total{result="success"}'
                self.rig.until("a reload", lambda: gateway.metrics().get(name, 0) > before)

    def settings_broken(self):
        """Settings that are refused leave the former ones in effect."""
        gateway = self.random.choice(self.rig.gateways)
        with self.window("settings broken", f"broken {gateway.name}"):
            file = gateway.folder / "sallyport.yaml"
            good = file.read_text()
            file.write_text(good.replace("event_loops: 2", "event_loops: many"))
            gateway.signal(signal.SIGHUP)
            name = "sallyport_config_last_reload_successful"
            self.rig.until("a refused reload", lambda: gateway.metrics().get(name) == 0)
            time.sleep(3)
            file.write_text(good)
            gateway.signal(signal.SIGHUP)
            self.rig.until("a good reload", lambda: gateway.metrics().get(name) == 1)

    def gateway_restarted(self):
        gateway = self.random.choice(self.restartable)
        with self.window("gateway restarted", gateway.name):
            gateway.may_be_gone = True
            gateway.signal(signal.SIGTERM)
            status = gateway.process.wait(20)
            if status != 0:
                self.world.report("faults", f"{gateway.name} ended with status {status} after SIGTERM")
            gateway.start()
            self.rig.until("a gateway that is ready", gateway.ready)

    def gateway_killed(self):
        gateway = self.random.choice(self.restartable)
        with self.window("gateway killed", gateway.name):
            gateway.may_be_gone = True
            gateway.kill()
            time.sleep(self.random.uniform(0, 2))
            gateway.start()
            self.rig.until("a gateway that is ready", gateway.ready)

    # Load

    def burst(self, count: int = 2000):
        """So many connections at once, each served; memory comes back afterwards."""
        gateway = self.random.choice(self.rig.gateways)
        before, wires, served = gateway.figures(), [], 0
        with self.window("burst of connections", "load"):
            for number in range(count):
                wire = socket.socket()
                wire.setblocking(False)
                wire.bind((f"127.{200 + number % 40}.{number // 250}.9", 0))
                with contextlib.suppress(BlockingIOError):
                    wire.connect(("127.0.0.1", gateway.port))
                wires.append(wire)
            # What the gateway answers itself: the app is not tried here.
            request = head(self.rig.authority, "GET", "/page", {})
            time.sleep(1)
            for wire in wires:
                with contextlib.suppress(OSError):
                    wire.settimeout(20)
                    wire.sendall(request)
            for wire in wires:
                with contextlib.suppress(OSError):
                    served += wire.recv(20).startswith(b"HTTP/1.1 401")
            during = gateway.figures()
            for wire in wires:
                wire.close()
        time.sleep(10)
        self.remember("burst of connections", gateway, before, during)
        if served < count:
            self.world.report("burst", f"{served} of {count} connections were served at {gateway.name}")

    def slow_downloads(self, count: int = 30, size: int = 10_000_000):
        """Clients that take nothing for a while, and then everything; the gateway keeps little of it meanwhile."""
        session = self.world.take(self.world.natives)
        if not session:
            return
        gateway = self.random.choice(self.rig.gateways)
        before, wires, good = gateway.figures(), [], 0
        with self.window("slow downloads", "load"):
            try:
                for number in range(count):
                    wire = Wire(gateway.port, session.source, 50)
                    wire.send(head(self.rig.authority, "GET", f"/download/slow{number}/{size}", session.fields()))
                    wires.append(wire)
                time.sleep(15)
                during = gateway.figures()
                for number, wire in enumerate(wires):
                    good += wire.answer().body == content(f"slow{number}", size)
                    wire.close()
            finally:
                for wire in wires:
                    wire.close()
                if session.is_live():
                    self.world.put(self.world.natives, session)
        time.sleep(10)
        self.remember("slow downloads", gateway, before, during)
        if good < count and session.is_live():
            self.world.report("slow downloads", f"{good} of {count} downloads came whole from {gateway.name}")
        grown = during.get("rss_kib", 0) - before.get("rss_kib", 0)
        if grown > 64 * 1024:
            self.world.report(
                "slow downloads", f"{gateway.name} grew by {grown} KiB while {count} clients read nothing"
            )

    def remember(self, name: str, gateway: Gateway, before: dict, during: dict):
        after = gateway.figures()
        names = ["rss_kib", "anonymous_kib", "descriptors"]
        figures = {
            when: [told.get(name) for name in names]
            for when, told in [("before", before), ("during", during), ("after", after)]
        }
        self.memory.append({"at": round(self.world.now()), "fault": name, "gateway": gateway.name, **figures})
