"""The machine that figures are from, and what was measured on it."""

import hashlib
import os
import pathlib
import platform
import re
import resource
import subprocess

from kinds import program

# Commands that print the version of what is measured or measures; a program that is not there has none.
VERSIONS = [
    *[["nginx", "-v"], ["haproxy", "-v"], [program("caddy"), "version"], [program("envoy"), "--version"]],
    *[["redis-server", "--version"], ["wrk", "--version"], ["h2load", "--version"]],
]


def cores() -> list[int]:
    """Two cores of this process, the first for the server that is measured; fewer if there are none."""
    return sorted(os.sched_getaffinity(0))[:2]


def file_limit() -> int:
    """How many files a process may open here."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def raise_file_limit():
    """Lets this process and those that it starts open as many files as the system allows."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (file_limit(), file_limit()))


def facts(root: pathlib.Path, binary: pathlib.Path) -> dict:
    """The processor, the system, the programs, the commit of the sources, and the binary's own hash: the binary need not
    be the commit's."""
    processor = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    commit = said(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"])
    return {
        "processor": processor[1] if processor else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.release()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "commit": commit or "unknown",
        "binary_sha256": hashlib.sha256(binary.read_bytes()).hexdigest(),
        "programs": [version for command in VERSIONS if (version := said(command))],
    }


def said(command: list[str]) -> str:
    """The first line that a command prints which is not empty; empty when there is no such program."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    # Envoy says where it is installed.
    return (done.stdout + done.stderr).strip().partition("\n")[0].removeprefix(f"{os.path.dirname(command[0])}/")
