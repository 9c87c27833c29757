"""What gateways ask of one Redis, counted by Redis itself (INFO), and what they hear of it (CLIENT TRACKING)."""

import socket

# The prefixes that every gateway follows (Sources/RedisStore/Store/Keyspace+Endings.swift).
FOLLOWED = ["sp:s:", "sp:f:", "sp:e:", "sp:c:"]
# Commands of a gateway that no request causes, and this program's own.
UNRELATED = {"info", "ping", "client|tracking", "hello", "time", "wait", "config|get", "subscribe", "role", "client|setname"}


class Redis:
    """A connection to Redis."""

    def __init__(self, port: int):
        self.connection = socket.create_connection(("127.0.0.1", port), 10)
        self.replies = self.connection.makefile("rb")

    def close(self):
        self.replies.close()
        self.connection.close()

    def ask(self, *words: str):
        return self.ask_all([list(words)])[0]

    def ask_all(self, commands: list[list[str]]) -> list:
        """Sends commands at once, and returns their answers."""
        texts = ["".join([f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]) for words in commands]
        self.connection.sendall("".join(texts).encode())
        return [self.read() for _ in commands]

    def read(self):
        line = self.replies.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind in b"+-:":
            return rest.decode()
        if rest == b"-1":
            return None
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return self.replies.read(int(rest) + 2)[:-2].decode(errors="replace")

    def info(self, section: str) -> dict[str, str]:
        lines = self.ask("INFO", section).splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def commands(self) -> dict[str, int]:
        """How often each command was run, those that scripts ran included."""
        found = {}
        for name, text in self.info("commandstats").items():
            command = name.removeprefix("cmdstat_")
            if command not in UNRELATED:
                found[command] = int(text.split(",")[0].removeprefix("calls="))
        return found

    def sent(self) -> int:
        """The bytes that Redis has sent to all clients."""
        return int(self.info("stats")["total_net_output_bytes"])

    def size(self, prefixes: list[str]) -> int:
        """The bytes of the keys with these prefixes and of their values."""
        keys = [key for prefix in prefixes for key in self.ask("KEYS", f"{prefix}*")]
        return sum(int(self.ask("MEMORY", "USAGE", key)) for key in keys)


class Listener:
    """Hears what every gateway hears."""

    def __init__(self, port: int):
        self.redis = Redis(port)
        number = self.redis.ask("CLIENT", "ID")
        prefixes = [word for prefix in FOLLOWED for word in ["PREFIX", prefix]]
        if self.redis.ask("CLIENT", "TRACKING", "on", "REDIRECT", number, "BCAST", *prefixes) != "OK":
            raise RuntimeError("Redis follows no prefixes")
        self.redis.ask("SUBSCRIBE", "__redis__:invalidate")

    def heard(self, patience: float = 0.5) -> list[list[str]]:
        """The messages until none comes for this many seconds, each with its keys."""
        messages = []
        self.redis.connection.settimeout(patience)
        try:
            while True:
                messages.append(self.redis.read()[2])
        except TimeoutError:
            # A reader that timed out reads no more.
            self.redis.replies = self.redis.connection.makefile("rb")
        return messages


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}
