#!/usr/bin/env python3
"""Moves a phone between networks during a handoff, and compares what the gateway does with the table in DeviceBinding.md:

    deploy/examples/tests/networks.py --binary PATH

The gateway and the phone are in network namespaces of their own, joined by a Wi-Fi, a cellular network and a VPN, so that the
addresses are those of real connections. Exit status 1: a cell of the table is not so, which is printed.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from device import PASSWORD, fail, wait

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "Sources/sallyport/Sallyport.docc/NativeApps/DeviceBinding.md"
PORT = 8443
MODES = ["none", "ip", "asn", "ip_dual_stack", "ip_or_asn"]
# The gateway's addresses, and each network: its number, the gateway's end of it, and the phone's addresses in it.
SERVER = {4: "192.0.2.1", 6: "2001:db8:ffff::1"}
NETWORKS = {"wifi": "2001:db8:1::/48,64500 198.51.100.0/24,64500", "cell": "2001:db8:2::/48,64501 203.0.113.0/24,64501",
            "vpn": "2001:db8:3::/48,64502 192.0.2.128/25,64502"}
ROUTERS = {"wifi": ("198.51.100.1/24", "fe80::1/64"), "cell": ("203.0.113.1/24", "fe80::1/64"), "vpn": ("192.0.2.129/25", "fe80::1/64")}

# Where the phone is when it mints and when it opens the page, in the table's words: a network, and its address there.
MOVES = {
    "the same IPv6 /64 (temporary addresses)": [("wifi", "2001:db8:1:1::10"), ("wifi", "2001:db8:1:1:8a:7bff:fe00:1")],
    "another IPv4 address of the carrier (CGNAT pool)": [("cell", "203.0.113.10"), ("cell", "203.0.113.77")],
    "a new IPv6 /64 of the same carrier": [("cell", "2001:db8:2:1::10"), ("cell", "2001:db8:2:2::10")],
    "IPv6 after IPv4, or the reverse, in one network (dual stack)": [("wifi", "198.51.100.10"), ("wifi", "2001:db8:1:1::10")],
    "cellular after Wi-Fi, or the reverse": [("wifi", "198.51.100.10"), ("cell", "203.0.113.10")],
    "a VPN or Private Relay that the app itself did not use": [("cell", "203.0.113.10"), ("vpn", "192.0.2.130")],
    "a thief behind the same address (office, café, CGNAT)": [("wifi", "198.51.100.10"), ("wifi", "198.51.100.10")],
    "a thief elsewhere at the same carrier, by the same address family": [("cell", "203.0.113.10"), ("cell", "203.0.113.99")],
}
REVERSIBLE = ", or the reverse"


def table() -> dict:
    """What the guide says: by move and mode, whether the token is taken."""
    rows = re.search(r"(?m)^\| the token is used from .*\n\|[-|]*\n((?:\|.*\n)*)", GUIDE.read_text())
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[1].splitlines()]
    return {row[0]: dict(zip(MODES, [cell == "passes" for cell in row[1:]])) for row in cells}


def run(*words: str):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        fail(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


class PhoneNetwork:
    """A namespace with an interface for each network, of which one is up, with one address."""

    def __init__(self):
        # Whoever sends from there is in the phone.
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        wait(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "the phone's namespace")
        self.inside("ip", "link", "set", "lo", "up")
        for name, (four, six) in ROUTERS.items():
            run("ip", "link", "add", f"{name}-router", "type", "veth", "peer", "name", name, "netns", str(self.holder.pid))
            run("ip", "addr", "add", four, "dev", f"{name}-router")
            run("ip", "addr", "add", six, "dev", f"{name}-router", "nodad")
            run("ip", "link", "set", f"{name}-router", "up")

    def inside(self, *words: str):
        return run("nsenter", "--net", "--target", str(self.holder.pid), *words)

    def move(self, name: str, address: str):
        """The phone leaves its network, and has this address in another one."""
        for other in NETWORKS:
            self.inside("ip", "link", "set", other, "down")
            self.inside("ip", "addr", "flush", "dev", other)
        self.inside("ip", "link", "set", name, "up")
        if ":" in address:
            self.inside("ip", "addr", "add", f"{address}/64", "dev", name, "nodad")
            self.inside("ip", "-6", "route", "replace", "default", "via", "fe80::1", "dev", name)
            prefix = ":".join(address.split(":")[:4]) + "::/64"
            run("ip", "-6", "route", "replace", prefix, "dev", f"{name}-router")
        else:
            router, length = ROUTERS[name][0].split("/")
            self.inside("ip", "addr", "add", f"{address}/{length}", "dev", name)
            self.inside("ip", "route", "replace", "default", "via", router, "dev", name)

    def stop(self):
        self.holder.kill()
        self.holder.wait()


def request(phone: PhoneNetwork, address: str, method: str, host: str, path: str, fields={}, body=None) -> dict:
    """One request of the phone, as a program in its namespace makes it."""
    server = SERVER[6 if ":" in address else 4]
    words = [sys.executable, __file__, "--request", json.dumps([server, method, host, path, fields, body])]
    return json.loads(phone.inside(*words))


def send(server: str, method: str, host: str, path: str, fields: dict, body):
    """Runs in the phone's namespace. The certificate is the gateway's own."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection(server, PORT, timeout=20, context=context)
    connection.request(method, path, body, {"Host": f"{host}:{PORT}", **fields})
    answer = connection.getresponse()
    return {"status": answer.status, "cookies": answer.headers.get_all("Set-Cookie") or [], "text": answer.read().decode()}


def start(binary: str, folder: str):
    """A gateway with a host for each mode."""
    for address, length in ((SERVER[4], 32), (SERVER[6], 128)):
        run("ip", "addr", "add", f"{address}/{length}", "dev", "lo")
    run("ip", "link", "set", "lo", "up")
    names = ["auth", *(mode.replace("_", "-") for mode in MODES)]
    certificate = [word for name in names for word in ("--name", f"{name}.test")]
    quiet = {"cwd": folder, "check": True, "capture_output": True}
    subprocess.run([binary, "keys", "make", "secret"], **quiet)
    subprocess.run([binary, "certificate", "--self-signed", *certificate], **quiet)
    hash = subprocess.run([binary, "hash-password"], input=PASSWORD.encode(), **quiet).stdout.decode().strip()
    path = pathlib.Path(folder)
    (path / "asn.csv").write_text("\n".join(" ".join(NETWORKS.values()).split()) + "\n")
    hosts = f"  - {{public_url: https://auth.test:{PORT}, endpoints: true, routes: [{{path: /**, auth: public}}]}}\n"
    clients = "  - {client_id: app, session_transfer: {can_create_session_transfer_token: true}}\n"
    for mode in MODES:
        name = mode.replace("_", "-")
        hosts += f"  - {{public_url: https://{name}.test:{PORT}, routes: [{{path: /**, client: {name}}}]}}\n"
        transfer = f"{{allowed_authentication_methods: [query], enforce_device_binding: {mode}}}"
        clients += f"  - {{client_id: {name}, session_transfer: {transfer}}}\n"
    (path / "sallyport.yaml").write_text(f"""
upstream: http://127.0.0.1:9
secret_file: secret
listen: [{{address: ":{PORT}"}}]
tls: {{certificates: [{{certificate_file: certificate.pem, key_file: key.pem}}]}}
provider: {{static: {{users: [{{identifier: ada, password_hash: "{hash}"}}]}}}}
asn: {{csv: asn.csv}}
hosts:
{hosts}
clients:
{clients}
""")
    log = open(path / "gateway.log", "wb")
    return subprocess.Popen([binary, "run", "--insecure-static-users", "--config", "sallyport.yaml"], cwd=folder, stdout=log, stderr=log)


def sign_in(phone, address: str) -> str:
    """The session token of an app that signs in where the phone is."""
    flow = json.loads(request(phone, address, "GET", "auth.test", "/self-service/login/api")["text"])["id"]
    body = json.dumps({"method": "password", "identifier": "ada", "password": PASSWORD})
    fields = {"Content-Type": "application/json"}
    answer = request(phone, address, "POST", "auth.test", f"/self-service/login?flow={flow}", fields, body)
    return json.loads(answer["text"])["session_token"]


def transfer_token(phone, address: str, session: str) -> str:
    body = urllib.parse.urlencode({
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": "app", "subject_token": session,
        "subject_token_type": "urn:sallyport:params:oauth:token-type:session_token", "audience": "urn:auth.test:session_transfer",
    })
    fields = {"Content-Type": "application/x-www-form-urlencoded"}
    return json.loads(request(phone, address, "POST", "auth.test", "/oauth/token", fields, body)["text"])["access_token"]


def is_taken(phone, address: str, mode: str, token: str) -> bool:
    fields = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}
    host = f"{mode.replace('_', '-')}.test"
    answer = request(phone, address, "GET", host, f"/a?session_transfer_token={token}", fields)
    if answer["status"] != 303:
        fail(f"{host}: {answer}")
    return any(re.match("__Host-sallyport=[^;]", field) for field in answer["cookies"])


def check(binary: str) -> list:
    """What differs from the table."""
    wrong = []
    expected = table()
    if expected.keys() != MOVES.keys():
        fail(f"the guide has other rows: {sorted(expected.keys() ^ MOVES.keys())}")
    with tempfile.TemporaryDirectory(prefix="networks-") as folder:
        gateway, phone = start(binary, folder), PhoneNetwork()
        try:
            phone.move("wifi", "198.51.100.10")
            def answers():
                if gateway.poll() is not None:
                    fail(pathlib.Path(folder, "gateway.log").read_text())
                try:
                    return request(phone, "198.51.100.10", "GET", "auth.test", "/.sallyport/jwks.json")["status"] == 200
                except AssertionError:
                    return False
            wait(answers, "the gateway answers")
            for row, places in MOVES.items():
                for there, here in [places, places[::-1]] if REVERSIBLE in row else [places]:
                    phone.move(*there)
                    session = sign_in(phone, there[1])
                    tokens = {mode: transfer_token(phone, there[1], session) for mode in MODES}
                    phone.move(*here)
                    for mode, token in tokens.items():
                        taken = is_taken(phone, here[1], mode, token)
                        if taken != expected[row][mode]:
                            wrong.append(f"{row}, {mode}: {'passes' if taken else 'refused'}, from {there[1]} to {here[1]}")
        finally:
            phone.stop()
            gateway.terminate()
            gateway.wait()
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary")
    parser.add_argument("--inside", action="store_true", help="there is a namespace for the gateway")
    parser.add_argument("--request", help="what the phone sends")
    options = parser.parse_args()
    if options.request:
        print(json.dumps(send(*json.loads(options.request))))
        return 0
    if not options.inside:
        words = ["unshare", "--map-root-user", "--net", sys.executable, __file__, "--inside", "--binary"]
        if subprocess.run([*words[:3], "ip", "link"], capture_output=True).returncode:
            print("skipped: networks: network namespaces are missing")
            return 0
        return subprocess.run([*words, os.path.abspath(options.binary)]).returncode
    try:
        wrong = check(options.binary)
    except AssertionError as error:
        wrong = [str(error)]
    print("\n".join(f"failed: {line}" for line in wrong) or "passed: networks")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
