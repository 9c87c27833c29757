"""Acts of OAuth clients, of long bodies, of WebSockets, and of slow and broken clients."""

import base64
import contextlib
import hashlib
import json
import os
import random
import secrets
import socket
import struct
import time
import urllib.parse

from acts import Acts
from client import NAVIGATION, Answer, Client, Wire, head
from content import content, digest
from rig import CALLBACK, Gateway
from world import Failed, Session, Wrong

# A former refresh token gives the same successor for so long, in seconds: refresh_token.leeway is 60.
LEEWAY = 50


class MoreActs(Acts):
    # OAuth clients

    def token(self, act: str, client: Client, gateway: Gateway, **form) -> Answer:
        return self.ask(act, client, gateway, "POST", "/oauth/token", None, {"client_id": "app", **form})

    def authorize(self):
        """A native app gets tokens for a browser's session, and they are its user's."""
        if len(self.world.families) > 60:
            return "enough"
        with self.borrowed(self.world.browsers) as session:
            if not session or session.origin != "browser":
                return "none"
            first, second = self.gateway(), self.gateway()
            effects = {"store", first.name, second.name}
            verifier = secrets.token_urlsafe(40)
            proof = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
            query = {"client_id": "app", "response_type": "code", "redirect_uri": CALLBACK, "state": "s"}
            query |= {"scope": "openid offline_access", "code_challenge": proof, "code_challenge_method": "S256"}
            with self.client(session.source) as client:
                target = f"/authorize?{urllib.parse.urlencode(query)}"
                answer = self.ask("authorize", client, first, "GET", target, NAVIGATION | session.fields())
                self.demand(answer, {303}, effects, "authorize")
                if not answer.field("location").startswith(CALLBACK):
                    if session.is_live():
                        raise Wrong(f"authorize leads a signed-in user to {answer.field('location').partition('?')[0]}")
                    return "ended"
                back = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.field("location")).query))
                if back.get("error") in ("temporarily_unavailable", "server_error"):
                    raise Failed(f"authorize: {back['error']}", effects)
                if not (code := back.get("code")):
                    raise Wrong(f"authorize: {back.get('error')}")
                form = {
                    "grant_type": "authorization_code",
                    "code": code,
                    "redirect_uri": CALLBACK,
                    "code_verifier": verifier,
                }
                answer = self.token("authorize", client, second, **form)
                tokens = self.demand(answer, {200}, effects, "tokens for a code").json()
            family = {"token": tokens["refresh_token"], "older": [], "session": session, "since": None}
            # Before somebody may revoke them.
            try:
                self.granted(tokens, session)
            finally:
                self.world.put(self.world.families, family)
        return "ok"

    def granted(self, tokens: dict, session: Session):
        """The access token and the id_token are the user's."""
        claims = json.loads(base64.urlsafe_b64decode(tokens["id_token"].split(".")[1] + "=="))
        if claims["sub"] != session.user:
            raise Wrong(f"an id_token is for {claims['sub']} in place of {session.user}")
        gateway, nonce = self.gateway(), secrets.token_hex(6)
        with self.client(session.source) as client:
            fields = {"Authorization": f"Bearer {tokens['access_token']}", "X-Nonce": nonce}
            answer = self.ask("access", client, gateway, "GET", "/api/orders", fields)
            self.demand(answer, {200}, {"store", "app", gateway.name}, "a fresh access token")
            told = answer.json()
            if (told.get("x-auth-subject"), told.get("x-nonce")) != (session.user, nonce):
                raise Wrong(f"the app was told {told.get('x-auth-subject')} in place of {session.user}")

    def refresh(self):
        """A refresh token changes with each use; an answer that was lost is had again."""
        if not (family := self.world.take(self.world.families)):
            return "none"
        session = family["session"]
        with self.client(session.source) as client:
            since = time.monotonic()
            while True:
                gateway = self.gateway()
                try:
                    answer = self.token(
                        "refresh", client, gateway, grant_type="refresh_token", refresh_token=family["token"]
                    )
                    tokens = self.demand(answer, {200}, {"store", gateway.name}, "a refresh").json()
                    break
                except Failed:
                    # It is not known whether the token was used: it is sent again until that is too late.
                    if time.monotonic() - since > LEEWAY:
                        raise
                    time.sleep(random.uniform(0.5, 1.5))
            if tokens["refresh_token"] == family["token"]:
                raise Wrong("a refresh token did not change")
            if random.random() < 0.2:
                # The same again, as if the answer had been lost.
                gateway = self.gateway()
                answer = self.token(
                    "refresh", client, gateway, grant_type="refresh_token", refresh_token=family["token"]
                )
                again = self.demand(answer, {200, 503}, {"store", gateway.name}, "a refresh that is repeated")
                if again.status == 200 and again.json()["refresh_token"] != tokens["refresh_token"]:
                    raise Wrong("a refresh that is repeated gives another successor")
            family["older"] = [*family["older"][-3:], family["token"]]
            family["token"] = tokens["refresh_token"]
        try:
            self.granted(tokens, session)
        finally:
            self.world.put(self.world.families, family)
        return "ok"

    def end_of_family(self):
        """A refresh token that was stolen and used later ends its family; so does a revocation."""
        if not (family := self.world.take(self.world.families, 30)):
            return "none"
        first, second = self.gateway(), self.gateway()
        effects = {"store", first.name, second.name}
        with self.client(family["session"].source) as client:
            if len(family["older"]) > 1 and random.random() < 0.5:
                answer = self.token(
                    "theft", client, first, grant_type="refresh_token", refresh_token=family["older"][-2]
                )
                self.demand(answer, {400}, effects, "a refresh token that was replaced twice")
                result = "theft"
            else:
                form = {"client_id": "app", "token": family["token"]}
                answer = self.ask("revoke", client, first, "POST", "/oauth/revoke", None, form)
                self.demand(answer, {200}, effects, "a revocation")
                result = "revoked"
            answer = self.token(result, client, second, grant_type="refresh_token", refresh_token=family["token"])
            self.demand(answer, {400}, effects, f"the token of a family that has ended ({result})")
            if answer.json().get("error") != "invalid_grant":
                raise Wrong(f"the token of a family that has ended: {answer.said()}")
        return result

    # Bodies

    def upload(self):
        with self.borrowed(self.world.natives) as session:
            if not session:
                return "none"
            body = content(secrets.token_hex(2), random.choice([1, 1000, 20_000, 150_000, 400_000]))
            gateway = self.gateway()
            fields = session.fields()
            with self.client(session.source) as client:
                if random.random() < 0.5:
                    answer = self.ask("upload", client, gateway, "POST", "/api/upload", fields, body)
                else:
                    answer = self.chunked(client, gateway, fields, body)
                if answer.status == 401 and not session.is_live():
                    return "ended"
                self.demand(answer, {200}, {"store", "app", gateway.name}, "an upload")
                told = answer.json()
                if (told["size"], told["digest"], told["x-auth-subject"]) != (len(body), digest(body), session.user):
                    raise Wrong(f"{told['size']} of {len(body)} bytes reached the app, for {told['x-auth-subject']}")
        return "ok"

    def chunked(self, client: Client, gateway: Gateway, fields: dict, body: bytes) -> Answer:
        try:
            wire = Wire(gateway.port, client.source)
            with contextlib.closing(wire):
                wire.send(head(self.rig.authority, "PUT", "/api/upload", fields | {"Transfer-Encoding": "chunked"}))
                place = 0
                while place < len(body):
                    piece = body[place : place + random.randint(1, 60_000)]
                    wire.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                    place += len(piece)
                wire.send(b"0\r\n\r\n")
                answer = wire.answer()
        except OSError as error:
            raise Failed(f"a chunked upload at {gateway.name}: {error!r}", {gateway.name, "app", "store"}) from error
        self.world.saw("upload", answer.status)
        return answer

    def download(self):
        with self.borrowed(self.world.browsers) as session:
            if not session:
                return "none"
            seed, size, gateway = (
                secrets.token_hex(2),
                random.choice([1, 5000, 65_536, 500_000, 1_000_000]),
                self.gateway(),
            )
            with self.client(session.source) as client:
                try:
                    answer = self.ask("download", client, gateway, "GET", f"/download/{seed}/{size}", session.fields())
                except Failed as failure:
                    # An app that is killed breaks off, visibly.
                    raise Failed(str(failure), failure.effects | {"app"}) from failure
                if answer.status == 401 and not session.is_live():
                    return "ended"
                self.demand(answer, {200}, {"store", "app", gateway.name}, "a download")
                if answer.body != content(seed, size):
                    raise Wrong(f"a download of {size} bytes is not what the app sent ({len(answer.body)} bytes)")
        return "ok"

    # WebSockets

    def upgraded(self, client: Client, gateway: Gateway, session: Session) -> Wire:
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key,
        }
        fields |= {"Origin": f"http://{self.rig.authority}", **session.fields()}
        try:
            wire = Wire(gateway.port, client.source)
            wire.send(head(self.rig.authority, "GET", "/api/ws", fields))
            answer = wire.head()
        except OSError as error:
            raise Failed(f"a WebSocket at {gateway.name}: {error!r}", {gateway.name, "app"}) from error
        self.world.saw("websocket", answer.status)
        if answer.status != 101:
            wire.close()
            if answer.status == 401 and not session.is_live():
                raise Failed("the session has ended", {"session"})
            answer.body = b""
            self.demand(answer, {101}, {"store", "app", gateway.name}, "an upgrade")
        if answer.field("x-told") != session.user:
            wire.close()
            raise Wrong(f"a WebSocket is {answer.field('x-told')}'s in place of {session.user}'s")
        return wire

    def websocket(self):
        with self.borrowed(random.choice([self.world.browsers, self.world.natives])) as session:
            if not session:
                return "none"
            gateway = self.gateway()
            with self.client(session.source) as client:
                try:
                    wire = self.upgraded(client, gateway, session)
                except Failed:
                    if not session.is_live():
                        return "ended"
                    raise
                with contextlib.closing(wire):
                    for _ in range(random.randint(1, 12)):
                        payload = os.urandom(random.choice([0, 10, 125, 2000, 30_000]))
                        size = len(payload)
                        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
                        frame = b"\x82" + length + bytes(4) + payload
                        try:
                            wire.send(frame)
                            echo = wire.exactly(len(frame))
                        except OSError as error:
                            if not session.is_live():
                                return "ended"
                            what = f"a WebSocket at {gateway.name} ended: {error!r}"
                            raise Failed(what, {"store", "app", gateway.name}) from error
                        if echo != frame:
                            if echo[:1] == b"\x88":
                                if not session.is_live():
                                    return "ended"
                                raise Failed("a WebSocket was closed", {"store", "app", gateway.name})
                            raise Wrong("an echo is another frame")
                        time.sleep(random.uniform(0, 1))
        return "ok"

    # Slow and broken clients

    def slow(self):
        """A client that sends its request by and by, or reads its answer so, gets what is right."""
        with self.borrowed(self.world.natives) as session:
            if not session:
                return "none"
            gateway, kind = self.gateway(), random.choice(["head", "late head", "body", "reader"])
            effects = {"store", "app", gateway.name}
            try:
                wire = Wire(gateway.port, session.source, 40)
                with contextlib.closing(wire):
                    result = {
                        "head": self.slow_head,
                        "late head": self.late_head,
                        "body": self.slow_body,
                        "reader": self.slow_reader,
                    }[kind](wire, session, effects)
            except OSError as error:
                if session.is_live():
                    raise Failed(f"a slow {kind} at {gateway.name}: {error!r}", effects) from error
                result = "ended"
        return f"{kind}: {result}"

    def slow_head(self, wire: Wire, session: Session, effects: set[str]):
        nonce = secrets.token_hex(6)
        request = head(self.rig.authority, "GET", "/page", session.fields() | {"X-Nonce": nonce})
        for start in range(0, len(request), 12):
            wire.send(request[start : start + 12])
            time.sleep(0.25)
        answer = wire.answer()
        if answer.status == 401 and not session.is_live():
            return "ended"
        self.demand(answer, {200}, effects, "a slow head")
        self.told(answer, session, nonce, None)
        return "ok"

    def late_head(self, wire: Wire, session: Session, effects: set[str]):
        """A head that takes longer than timeouts.header (10 s) is refused."""
        wire.send(f"GET /page HTTP/1.1\r\nHost: {self.rig.authority}\r\n".encode())
        try:
            for _ in range(14):
                time.sleep(1)
                wire.send(b"X-More: 1\r\n")
            answer = wire.head()
        except OSError:
            return "closed"
        self.demand(answer, {408}, effects, "a head that never ends")
        return "408"

    def slow_body(self, wire: Wire, session: Session, effects: set[str]):
        body = content(secrets.token_hex(2), 20_000)
        wire.send(
            head(self.rig.authority, "POST", "/api/upload", session.fields() | {"Content-Length": str(len(body))})
        )
        for start in range(0, len(body), 1000):
            wire.send(body[start : start + 1000])
            time.sleep(0.4)
        answer = wire.answer()
        if answer.status == 401 and not session.is_live():
            return "ended"
        self.demand(answer, {200}, effects, "a slow upload")
        if answer.json()["digest"] != digest(body):
            raise Wrong("a slow upload reached the app with other bytes")
        return "ok"

    def slow_reader(self, wire: Wire, session: Session, effects: set[str]):
        seed, size = secrets.token_hex(2), 3_000_000
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        wire.send(head(self.rig.authority, "GET", f"/download/{seed}/{size}", session.fields()))
        answer = wire.head()
        if answer.status == 401 and not session.is_live():
            return "ended"
        self.demand(answer, {200}, effects, "a slow download")
        pieces, left = [], size
        while left:
            piece = wire.exactly(min(left, 100_000))
            pieces.append(piece)
            left -= len(piece)
            time.sleep(0.3)
        if b"".join(pieces) != content(seed, size):
            raise Wrong("a slow download is not what the app sent")
        return "ok"

    def broken(self):
        """A client that leaves in the middle; what others get is judged by their acts."""
        with self.borrowed(self.world.natives) as session:
            if not session:
                return "none"
            gateway, kind = self.gateway(), random.choice(["head", "body", "answer", "frame", "garbage", "pipeline"])
            with contextlib.suppress(OSError, Failed):
                if kind == "frame":
                    with self.client(session.source) as client:
                        wire = self.upgraded(client, gateway, session)
                        wire.send(b"\x82\xfe\x10")
                else:
                    wire = Wire(gateway.port, session.source)
                    wire.send(self.half(kind, session))
                    if kind == "answer":
                        wire.exactly(random.randint(1, 60_000))
                if random.random() < 0.5:
                    # The connection is reset.
                    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                wire.close()
        return kind

    def half(self, kind: str, session: Session) -> bytes:
        authority, fields = self.rig.authority, session.fields()
        if kind == "head":
            return head(authority, "GET", "/page", fields)[: random.randint(1, 80)]
        if kind == "body":
            return head(authority, "POST", "/api/upload", fields | {"Content-Length": "50000"}) + bytes(
                random.randint(0, 49_999)
            )
        if kind == "answer":
            return head(authority, "GET", f"/download/{secrets.token_hex(2)}/3000000", fields)
        if kind == "pipeline":
            return head(authority, "GET", "/page", fields) * random.randint(2, 30)
        return os.urandom(random.randint(1, 300))
