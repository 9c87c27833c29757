"""What asks a server: wrk, h2load, and the clients of this folder (openloop.c, handshakes.c, frames.py).

A load runs for some seconds and returns what was done: `requests` (or frames), `bytes`, `errors`, and percentiles in
microseconds where the client has them. All servers get the same requests, byte for byte but for the token.
"""

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
AGENT = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
PATIENCE = 120


@dataclasses.dataclass(frozen=True)
class Request:
    """One request: its path and fields, and the tokens that it is sent with in turn (none: it has no credentials)."""

    path: str
    tokens: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    body: int = 0

    def heads(self) -> list[str]:
        """The heads that are sent in turn, without the empty line at their end."""
        method = "POST" if self.body else "GET"
        lines = [f"{method} {self.path} HTTP/1.1", "Host: localhost", AGENT, "Accept: */*", *self.fields]
        if self.body:
            lines.append(f"Content-Length: {self.body}")
        ways = [[f"Authorization: Bearer {token}"] for token in self.tokens] or [[]]
        return ["".join(f"{line}\r\n" for line in lines + way) for way in ways]


@dataclasses.dataclass(frozen=True)
class Target:
    """The ports of a server."""

    port: int
    tls_port: int
    # Where the gateway answers the checks of other proxies.
    checks: int


@dataclasses.dataclass(frozen=True)
class Kept:
    """wrk: each connection asks again as soon as its answer is there; `is_closing`: on a new connection."""

    connections: int = 64
    is_tls: bool = False
    is_closing: bool = False
    # The least that an answer has: a shorter one is not the app's.
    least: int = 1024

    def run(self, target: Target, request: Request, seconds: float, folder: pathlib.Path, core: list[str]) -> dict:
        if self.is_closing:
            request = dataclasses.replace(request, fields=(*request.fields, "Connection: close"))
        script = folder / "wrk.lua"
        heads = ", ".join(json.dumps(head + "\r\n") for head in request.heads())
        script.write_text(WRK.replace("HEADS", heads).replace("BODY", str(request.body)))
        url = f"https://localhost:{target.tls_port}" if self.is_tls else f"http://127.0.0.1:{target.port}"
        options = ["-t1", f"-c{self.connections}", f"-d{max(1, round(seconds))}s", "--timeout", "30s"]
        done = output([*core, "wrk", *options, "-s", str(script), url])
        result = json.loads(re.search(r"^JSON (.*)$", done, re.MULTILINE)[1])
        if result["bytes"] < result["requests"] * self.least:
            result["errors"] += 1
        return result


WRK = r"""
local heads = {HEADS}
local body = string.rep("x", BODY)
local requests, index = {}, 0
for at, head in ipairs(heads) do requests[at] = head .. body end
function request()
  index = index % #requests + 1
  return requests[index]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'JSON {"requests": %d, "bytes": %d, "errors": %d, "seconds": %.3f, "p50_us": %d, "p90_us": %d, "p99_us": %d}\n',
    summary.requests, summary.bytes, errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(90), latency:percentile(99)))
end
"""


@dataclasses.dataclass(frozen=True)
class Streams:
    """h2load: HTTP/2 over TLS with so many streams at a time on each connection."""

    connections: int
    streams: int

    def run(self, target: Target, request: Request, seconds: float, folder: pathlib.Path, core: list[str]) -> dict:
        # h2load sends one token only.
        fields = [*request.fields, *(f"Authorization: Bearer {token}" for token in request.tokens[:1])]
        options = [f"-c{self.connections}", f"-m{self.streams}", f"-D{max(1, round(seconds))}", "-t1"]
        options += [word for field in [":authority: localhost", AGENT, *fields] for word in ("-H", field)]
        done = output([*core, "h2load", *options, f"https://localhost:{target.tls_port}{request.path}"])
        if "Application protocol: h2" not in done:
            sys.exit(f"not HTTP/2:\n{done}")
        count = re.search(r"^requests: .*?(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", done, re.MULTILINE)
        codes = re.search(r"^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", done, re.MULTILINE)
        traffic = re.search(r"\((\d+)\) total", done)
        # A request under way at the end is no error.
        errors = int(count[2]) + sum(map(int, codes.groups()[1:]))
        return {"requests": int(codes[1]), "errors": errors, "bytes": int(traffic[1]), "seconds": float(seconds)}


@dataclasses.dataclass(frozen=True)
class Frames:
    """frames.py: WebSocket frames and their echoes."""

    connections: int = 32

    def run(self, target: Target, request: Request, seconds: float, folder: pathlib.Path, core: list[str]) -> dict:
        command = [*core, sys.executable, str(HERE / "frames.py"), "drive"]
        place = [str(target.port), str(self.connections), str(seconds)]
        return json.loads(output([*command, *place, request.heads()[0]])) | {"bytes": 0, "seconds": float(seconds)}


@dataclasses.dataclass(frozen=True)
class Steady:
    """openloop.c: so many requests a second, whatever the server does."""

    rate: float
    connections: int = 256

    def run(self, target: Target, request: Request, seconds: float, folder: pathlib.Path, core: list[str]) -> dict:
        program = compiled("openloop", folder, "-lm")
        numbers = [str(target.port), f"{self.rate:.0f}", str(seconds), str(self.connections)]
        result = json.loads(output([*core, str(program), *numbers, *request.heads()]))
        errors = result["errors"] + result.pop("unanswered")
        return result | {"errors": errors, "bytes": 0, "seconds": float(seconds)}


@dataclasses.dataclass(frozen=True)
class Beside:
    """Steady requests on kept connections while others begin connections with TLS at a steady rate (handshakes.c)."""

    requests: Steady
    handshakes: float

    def run(self, target: Target, request: Request, seconds: float, folder: pathlib.Path, core: list[str]) -> dict:
        program = compiled("handshakes", folder, "-lssl", "-lcrypto", "-lpthread")
        # They begin before the requests and end after them.
        numbers = [str(target.tls_port), f"{self.handshakes:.0f}", str(seconds + 1)]
        with subprocess.Popen([*core, program, *numbers], stdout=subprocess.PIPE, text=True) as others:
            time.sleep(0.5)
            result = self.requests.run(target, request, seconds, folder, core)
            done = json.loads(others.communicate(timeout=PATIENCE)[0])
        # Where fewer were completed, the waits say nothing.
        is_short = done["completed"] < 0.95 * self.handshakes * (seconds + 1)
        return result | {"errors": result["errors"] + done["failed"] + is_short}


def compiled(name: str, folder: pathlib.Path, *libraries: str) -> pathlib.Path:
    """A program of this folder."""
    program = folder / name
    if not program.exists():
        subprocess.run(["cc", "-O2", "-o", program, HERE / f"{name}.c", *libraries], check=True)
    return program


def output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} ...: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
