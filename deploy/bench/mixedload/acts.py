"""What clients do, each with the answer that is right."""

import contextlib
import json
import random
import secrets
import threading
import time
import urllib.parse

from client import NAVIGATION, Answer, Client, Wire, head
from costs import PASSWORD
from rig import COMPANY, LOCAL, Gateway, Rig
from world import PROMISED, SOON, Failed, Session, World, Wrong

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
SESSION_TOKEN = "urn:sallyport:params:oauth:token-type:session_token"
TRANSFER = "urn:localhost:session_transfer"
JSON = {"Content-Type": "application/json"}
PATHS = ["/page", "/api/items", "/a%20b", "/page?x=1&y=2"]


def source(user: str) -> str:
    """The user's address: few users share a network, as limits count by networks."""
    number = int(user[-3:])
    return f"127.{10 + number}.{1 if user.startswith('local') else 2}.{5 + random.randrange(2)}"


class Acts:
    def __init__(self, rig: Rig, world: World):
        self.rig, self.world = rig, world

    # Parts of acts

    def gateway(self) -> Gateway:
        return random.choice(self.rig.gateways)

    def other(self, gateway: Gateway) -> Gateway:
        return self.rig.gateways[1 - self.rig.gateways.index(gateway)]

    @contextlib.contextmanager
    def client(self, address: str, seconds: float = 20):
        client = Client(self.rig.authority, address, seconds)
        try:
            yield client
        finally:
            client.close()

    def ask(
        self, act: str, client: Client, gateway: Gateway, method: str, target: str, fields=None, body=None
    ) -> Answer:
        try:
            answer = client.ask(gateway, method, target, fields, body)
        except OSError as error:
            raise Failed(f"{method} {target.partition('?')[0]} at {gateway.name}: {error!r}", {gateway.name}) from error
        self.world.saw(act, answer.status)
        return answer

    @staticmethod
    def demand(answer: Answer, statuses: set[int], effects: set[str], what: str) -> Answer:
        """The answer has one of these statuses, or is a refusal by an outage, in the form that is promised for these."""
        if answer.status in statuses:
            return answer
        if answer.status in (500, 502, 503, 504):
            if answer.status == 503 and not answer.field("retry-after"):
                raise Wrong(f"{what}: 503 without Retry-After: {answer.said()}")
            if not answer.field("content-type").startswith(
                ("application/problem+json", "application/json", "text/html")
            ):
                raise Wrong(f"{what}: an error of another type: {answer.said()}")
            raise Failed(f"{what}: {answer.said()}", effects, answer.took)
        raise Wrong(f"{what}: {answer.said()}")

    def refusal(self, answer: Answer, what: str, effects: set[str]):
        """401 as a program gets it."""
        self.demand(answer, {401}, effects, what)
        if answer.field("content-type") != "application/problem+json" or not answer.json().get("reason"):
            raise Wrong(f"{what}: 401 without a reason: {answer.said()}")

    def told(self, answer: Answer, session: Session | None, nonce: str, gateway: Gateway):
        """What the app was told is right."""
        told = answer.json()
        expected = {"x-nonce": nonce}
        if session:
            expected |= {"x-auth-subject": session.user, "x-auth-email": session.email, "x-auth-origin": session.origin}
        named = {name: told.get(name) for name in expected}
        if named != expected:
            raise Wrong(f"the app was told {named} in place of {expected}")
        if session is None and "x-auth-subject" in told:
            raise Wrong(f"the app was told a user on a public route: {told['x-auth-subject']}")
        if "sallyport" in told.get("cookie", "") or "authorization" in told:
            raise Wrong("the app got a credential")

    def visit(self, act: str, client: Client, gateway: Gateway, session: Session, path: str = "/page"):
        """A request with a session, which shows whose it is."""
        nonce = secrets.token_hex(6)
        fields = {"X-Nonce": nonce, **session.fields()}
        if random.random() < 0.1:
            fields |= {"X-Auth-Subject": "forged", "x_auth_email": "forged@example.com"}
        began = self.world.now()
        answer = self.ask(act, client, gateway, "GET", path, fields)
        if answer.status == 401 and not session.is_live():
            self.refusal(answer, "a session that has ended", set())
            return False
        self.demand(
            answer, {200}, {"store", "app", gateway.name}, f"a live session of {session.kind}, {session.origin}"
        )
        self.told(answer, session, nonce, gateway)
        self.edition(answer, gateway)
        end = session.end()
        if end is not None and began + self.world.began > end + PROMISED:
            raise Wrong(f"a session that ended {began + self.world.began - end:.2f} s ago was served at {gateway.name}")
        return True

    def edition(self, answer: Answer, gateway: Gateway):
        """The settings that were loaded last are in effect."""
        if answer.field("x-edition") != str(self.rig.edition[gateway.name]):
            raise Failed(
                f"settings of edition {answer.field('x-edition')!r} at {gateway.name}", {f"settings {gateway.name}"}
            )

    @contextlib.contextmanager
    def borrowed(self, pool: list, keep: int = 0):
        """A session of a pool, which is put back while it lives."""
        session = self.world.take(pool, keep)
        try:
            yield session
        finally:
            if session and session.is_live():
                self.world.put(pool, session)

    # Requests

    def session(self):
        """The right user is told, for cookies and tokens at both gateways."""
        with self.borrowed(random.choice([self.world.browsers, self.world.natives])) as session:
            if not session:
                return "none"
            with self.client(session.source) as client:
                gateway = self.gateway()
                for _ in range(random.randint(1, 4)):
                    if not self.visit("session", client, gateway, session, random.choice(PATHS)):
                        return "ended"
                    if random.random() < 0.2:
                        gateway = self.other(gateway)
        return "ok"

    def public(self):
        nonce, gateway = secrets.token_hex(6), self.gateway()
        fields = {"X-Nonce": nonce, "X-Auth-Subject": "forged"}
        with self.client("127.1.0.1") as client:
            for _ in range(2):
                answer = self.ask("public", client, gateway, "GET", "/public/page", fields)
                # Redis and the provider have nothing to do with it.
                self.demand(answer, {200}, {"app", gateway.name}, "a public route")
                self.told(answer, None, nonce, gateway)
        return "ok"

    def without(self):
        gateway = self.gateway()
        with self.client("127.1.0.2") as client:
            answer = self.ask("without", client, gateway, "GET", "/page", {"Accept": "application/json"})
            self.refusal(answer, "no session", {gateway.name})
            answer = self.ask("without", client, gateway, "GET", "/page", NAVIGATION)
            self.demand(answer, {303}, {gateway.name}, "a browser without a session")
            if "/.sallyport/login" not in answer.field("location"):
                raise Wrong(f"a browser is led to {answer.field('location')}")
            token = "sps_" + "".join(random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij0123456789", k=55))
            answer = self.ask("without", client, gateway, "GET", "/api/x", {"Authorization": f"Bearer {token}"})
            self.refusal(answer, "a made-up token", {"store", gateway.name})
        return "ok"

    def whoami(self):
        with self.borrowed(self.world.natives) as session:
            if not session:
                return "none"
            with self.client(session.source) as client:
                gateway = self.gateway()
                answer = self.ask(
                    "whoami", client, gateway, "GET", "/sessions/whoami", {"X-Session-Token": session.token}
                )
                if answer.status == 401 and not session.is_live():
                    return "ended"
                self.demand(answer, {200}, {"store", gateway.name}, "whoami of a live session")
                shown = answer.json()
                if shown["identity"]["traits"].get("email") != session.email or not shown["active"]:
                    raise Wrong(f"whoami shows {shown['identity']['traits']} for {session.user}")
        return "ok"

    # Sign-in and sign-out

    def form_sign_in(self):
        """A browser's sign-in with a password; sometimes a wrong one first."""
        user, gateway = random.choice(LOCAL), self.gateway()
        effects = {"store", gateway.name}
        with self.client(source(user)) as client:
            form = {"return_to": "/page", "identifier": user, "password": PASSWORD}
            if random.random() < 0.1:
                wrong = self.ask(
                    "form", client, gateway, "POST", "/.sallyport/login", NAVIGATION, form | {"password": "wrong"}
                )
                self.demand(wrong, {400, 401, 403, 422, 200}, effects, "a wrong password")
                if wrong.cookies().get("sallyport"):
                    raise Wrong("a wrong password signs in")
            answer = self.ask("form", client, gateway, "POST", "/.sallyport/login", NAVIGATION, form)
            self.signed_in(answer, client, user, f"{user}@example.com", "browser", effects)
        return "ok"

    def signed_in(
        self, answer: Answer, client: Client, user: str, email: str, origin: str, effects: set[str], parent=None
    ):
        self.demand(answer, {303}, effects, f"a sign-in as {user}")
        if not (token := answer.cookies().get("sallyport")):
            raise Wrong(f"a sign-in without a cookie: {answer.said()}")
        session = Session("cookie", token, user, email, origin, client.source, parent)
        client.jar = {}
        try:
            # It is good at the other gateway at once.
            self.visit("first", client, self.gateway(), session)
        finally:
            self.world.put(self.world.browsers, session)
        return session

    def native_sign_in(self):
        user = random.choice(LOCAL)
        first, second = self.gateway(), self.gateway()
        effects = {"store", first.name, second.name}
        with self.client(source(user)) as client:
            answer = self.ask("native", client, first, "GET", "/self-service/login/api")
            flow = self.demand(answer, {200}, effects, "a native flow").json()["id"]
            body = json.dumps({"method": "password", "identifier": user, "password": PASSWORD}).encode()
            answer = self.ask("native", client, second, "POST", f"/self-service/login?flow={flow}", JSON, body)
            token = self.demand(answer, {200}, effects, f"a native sign-in as {user}").json()["session_token"]
            self.world.put(
                self.world.natives, Session("bearer", token, user, f"{user}@example.com", "native", client.source)
            )
        return "ok"

    def company_sign_in(self):
        """A sign-in at the provider: it begins at one gateway and is completed at another."""
        user, begins, completes = random.choice(COMPANY), self.gateway(), self.gateway()
        effects = {"store", "provider", begins.name, completes.name}
        with self.client(source(user)) as client:
            target = "/.sallyport/login?provider=company&return_to=/page"
            answer = self.ask("company", client, begins, "GET", target, NAVIGATION)
            self.demand(answer, {303}, effects, "the way to the provider")
            answer = self.back("company", client, completes, answer, user, effects)
            self.signed_in(answer, client, f"company|{user}", f"{user}@example.com", "browser", effects)
        return "ok"

    def back(self, act: str, client: Client, gateway: Gateway, answer: Answer, user: str, effects: set[str]) -> Answer:
        """Goes to the provider, signs in as this user, and comes back to this gateway."""
        url = urllib.parse.urlsplit(answer.field("location"))
        if url.port != self.rig.provider.port:
            raise Wrong(f"the browser is led to {url.netloc}{url.path}")
        try:
            wire = Wire(self.rig.provider.port, "127.0.0.1")
            wire.send(head(url.netloc, "GET", f"{url.path}?{url.query}&user={user}", {"Connection": "close"}))
            back = urllib.parse.urlsplit(wire.answer().field("location"))
            wire.close()
        except OSError as error:
            raise Failed(f"the provider: {error!r}", {"provider"}) from error
        fields = NAVIGATION | {"Sec-Fetch-Site": "cross-site"}
        return self.ask(act, client, gateway, "GET", f"{back.path}?{back.query}", fields)

    def exchange(self):
        """The sign-in of a native app through the browser, by two codes."""
        is_company = random.random() < 0.4
        user = random.choice(COMPANY if is_company else LOCAL)
        first, second = self.gateway(), self.gateway()
        effects = {"store", first.name, second.name} | ({"provider"} if is_company else set())
        address = source(user)
        with self.client(address) as client, self.client(address) as browser:
            target = "/self-service/login/api?return_session_token_exchange_code=true"
            flow = self.demand(self.ask("exchange", client, first, "GET", target), {200}, effects, "a flow").json()
            body = json.dumps({"method": "oidc", "provider": "company" if is_company else "local"}).encode()
            answer = self.ask("exchange", client, second, "POST", f"/self-service/login?flow={flow['id']}", JSON, body)
            page = self.demand(answer, {422}, effects, "where the browser goes").json()["redirect_browser_to"]
            if is_company:
                url = urllib.parse.urlsplit(page)
                answer = self.ask("exchange", browser, first, "GET", f"{url.path}?{url.query}", NAVIGATION)
                self.demand(answer, {303}, effects, "the way to the provider")
                answer = self.back("exchange", browser, second, answer, user, effects)
            else:
                form = {"flow": flow["id"], "identifier": user, "password": PASSWORD}
                answer = self.ask("exchange", browser, first, "POST", "/.sallyport/app", NAVIGATION, form)
            self.demand(answer, {303}, effects, "the way back to the app")
            codes = {
                "init_code": flow["session_token_exchange_code"],
                "return_to_code": dict(
                    urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.field("location")).query)
                ).get("code"),
            }
            if not codes["return_to_code"]:
                raise Wrong(f"no code came back: {answer.field('location').partition('=')[0]}")
            target = f"/sessions/token-exchange?{urllib.parse.urlencode(codes)}"
            answer = self.ask("exchange", client, second, "GET", target)
            token = self.demand(answer, {200}, effects, "the exchange").json()["session_token"]
            name = f"company|{user}" if is_company else user
            session = Session("bearer", token, name, f"{user}@example.com", "native", address)
            # Its repetition gets the same, and another device nothing: before somebody may sign it out.
            answer = self.ask("exchange", client, first, "GET", target)
            if answer.status == 200 and answer.json()["session_token"] != token:
                raise Wrong("the exchange gave two sessions for the same codes")
            self.demand(answer, {200}, effects, "the exchange, repeated after a lost answer")
            with self.client("127.3.3.3") as thief:
                answer = self.ask("exchange", thief, first, "GET", target)
                if answer.status == 200:
                    raise Wrong("the exchange gave a session to another device")
            self.world.put(self.world.natives, session)
        return "ok"

    def sign_out(self):
        """Signs out at one gateway; the other one refuses the session within the promised time."""
        with self.world.lock:
            pool = self.world.browsers if len(self.world.browsers) > len(self.world.natives) else self.world.natives
        if not (session := self.world.take(pool, 40)):
            return "none"
        gateway = self.gateway()
        other = self.other(gateway)
        frames = None
        with self.client(session.source) as client:
            if random.random() < 0.2 and session.is_live():
                with contextlib.suppress(OSError, Failed, Wrong):
                    frames = self.upgraded(client, other, session)
            try:
                return self.sign_out_of(session, gateway, other, client, frames)
            finally:
                if frames:
                    frames.close()

    def sign_out_of(self, session: Session, gateway: Gateway, other: Gateway, client: Client, frames: Wire | None):
        effects = {"store", gateway.name}
        session.is_doubtful = True
        if session.kind == "cookie":
            fields = NAVIGATION | session.fields()
            answer = self.ask("sign-out", client, gateway, "POST", "/.sallyport/logout", fields, b"")
            self.demand(answer, {303}, effects, "a sign-out")
        else:
            body = json.dumps({"session_token": session.token}).encode()
            answer = self.ask("sign-out", client, gateway, "DELETE", "/self-service/logout/api", JSON, body)
            self.demand(answer, {204}, effects, "a native sign-out")
        session.ended, session.ended_at, session.is_doubtful = time.monotonic(), gateway.name, False
        self.world.put(self.world.ended, session)
        # At the gateway that has confirmed it at once, at the other one soon.
        began = self.world.now()
        answer = self.ask("sign-out", client, gateway, "GET", "/page", session.fields())
        if answer.status == 200 and not self.world.excuse({gateway.name}, began):
            raise Wrong(f"{gateway.name} serves a session whose end it has just confirmed")
        while True:
            began = time.monotonic()
            answer = self.ask("sign-out", client, other, "GET", "/page", session.fields())
            if answer.status != 200:
                break
            is_broken = self.world.excuse({"store", other.name, gateway.name}, self.world.now())
            if began - session.ended > (PROMISED if is_broken else SOON):
                raise Wrong(f"{other.name} serves a session {began - session.ended:.2f} s after its sign-out")
            time.sleep(0.05)
        self.world.sign_out_delays.append(began - session.ended)
        self.refusal(answer, "a session that has ended", {"store", other.name})
        if frames:
            self.closes(frames, other, session)
        return "ok"

    def closes(self, frames: Wire, gateway: Gateway, session: Session):
        """The WebSocket of a session ends with it, at the other gateway too."""
        is_broken = self.world.excuse({"store", gateway.name, "app"}, self.world.now())
        frames.socket.settimeout(45 if is_broken else 5)
        try:
            while frames.reader.read1(65_536):
                pass
        except TimeoutError as error:
            raise Wrong(f"a WebSocket at {gateway.name} outlives its session") from error
        except OSError:
            pass

    def ended(self):
        """A session that has ended stays so, through faults too."""
        with self.world.lock:
            if not self.world.ended:
                return "none"
            session = random.choice(self.world.ended)
        gateway, began = self.gateway(), time.monotonic()
        with self.client(session.source) as client:
            answer = self.ask("ended", client, gateway, "GET", "/page", session.fields())
            if answer.status == 200:
                age = began - session.ended
                if (
                    age > PROMISED
                    or age > SOON
                    and not self.world.excuse({"store", gateway.name}, self.world.now() - age)
                ):
                    raise Wrong(f"{gateway.name} serves a session that was ended at {session.ended_at} {age:.2f} s ago")
                return "not yet"
            self.refusal(answer, "a session that has ended", {"store", gateway.name})
        return "ok"

    # From native to web

    def mint(self, act: str, client: Client, gateway: Gateway, session: Session) -> str | None:
        form = {
            "grant_type": EXCHANGE,
            "client_id": "app",
            "subject_token": session.token,
            "subject_token_type": SESSION_TOKEN,
        }
        answer = self.ask(act, client, gateway, "POST", "/oauth/token", None, form | {"audience": TRANSFER})
        if answer.status == 400 and not session.is_live():
            return None
        if answer.status == 429:
            return None
        return self.demand(answer, {200}, {"store", gateway.name}, "a transfer token").json()["access_token"]

    def present(self, act: str, client: Client, gateway: Gateway, token: str) -> Answer:
        """Opens a page with a transfer token; who is signed in by it is counted."""
        fields = NAVIGATION | {"Sec-Fetch-Site": "none"}
        target = "/page"
        if random.random() < 0.5:
            # The browser keeps it until an answer deletes it.
            client.jar["session_transfer_token"] = token
        else:
            target += f"?session_transfer_token={token}"
        answer = self.ask(act, client, gateway, "GET", target, fields)
        if answer.cookies().get("sallyport"):
            with self.world.lock:
                self.world.accepted[token] += 1
                times = self.world.accepted[token]
            if times > 1:
                raise Wrong(f"a transfer token was accepted {times} times, now at {gateway.name}")
        return answer

    def transfer(self):
        """A token of one gateway signs in once at any; replays at both are refused."""
        with self.borrowed(self.world.natives) as session:
            if not session:
                return "none"
            mints, uses = self.gateway(), self.gateway()
            with self.client(session.source) as client:
                if not (token := self.mint("transfer", client, mints, session)):
                    return "not minted"
            began = self.world.now()
            if random.random() < 0.1:
                return self.stolen(session, token, began)
            with self.client(session.source) as browser:
                answer = self.present("transfer", browser, uses, token)
                for _ in range(20):
                    if answer.status != 503:
                        break
                    # The cookie of the answer completes the same attempt.
                    time.sleep(0.5)
                    answer = self.ask(
                        "transfer", browser, uses, "GET", "/page", NAVIGATION | {"Sec-Fetch-Site": "same-origin"}
                    )
                    if answer.cookies().get("sallyport"):
                        self.world.accepted[token] += 1
                self.demand(answer, {303}, {"store", uses.name}, "a transfer")
                if not answer.cookies().get("sallyport"):
                    if session.is_live() and not self.world.is_quarantined(began):
                        raise Wrong(
                            f"a fresh transfer token of {mints.name} is refused at {uses.name}: {answer.said()}"
                        )
                    return "refused"
                self.signed_in(answer, browser, session.user, session.email, "transfer", {"store", uses.name}, session)
            self.world.put(self.world.used, (token, session.source))
            for gateway in self.rig.gateways:
                with self.client(session.source) as browser:
                    self.present("replay", browser, gateway, token)
        return "ok"

    def stolen(self, session: Session, token: str, began: float):
        """At another address the token is refused, and burned."""
        with self.client("127.3.3.4") as thief:
            answer = self.present("stolen", thief, self.gateway(), token)
            if answer.cookies().get("sallyport"):
                raise Wrong("a transfer token signs in at another address")
            if answer.status == 503:
                return "unavailable"
        with self.client(session.source) as browser:
            answer = self.present("stolen", browser, self.gateway(), token)
            if answer.cookies().get("sallyport"):
                raise Wrong("a transfer token that was burned signs in")
        self.world.put(self.world.used, (token, session.source))
        with self.world.lock:
            self.world.accepted[token] += 1
        return "ok"

    def replay(self):
        """A used token stays used."""
        with self.world.lock:
            if not self.world.used:
                return "none"
            token, address = random.choice(self.world.used)
        with self.client(address) as browser:
            self.present("replay", browser, self.gateway(), token)
        return "ok"

    def race(self):
        """One token at both gateways at the same time signs in once."""
        with self.borrowed(self.world.natives) as session:
            if not session:
                return "none"
            began = self.world.now()
            with self.client(session.source) as client:
                if not (token := self.mint("race", client, self.gateway(), session)):
                    return "not minted"
            results: list = []
            barrier = threading.Barrier(2)

            def run(gateway: Gateway):
                with self.client(session.source) as browser:
                    try:
                        barrier.wait(5)
                        results.append(self.present("race", browser, gateway, token))
                    except (Wrong, Failed) as error:
                        results.append(error)

            threads = [threading.Thread(target=run, args=(gateway,)) for gateway in self.rig.gateways]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for result in results:
                if isinstance(result, Exception):
                    raise result
            signed_in = [result for result in results if result.cookies().get("sallyport")]
            if not signed_in:
                for result in results:
                    self.demand(result, {303}, {"store"}, "a race")
                if session.is_live() and not self.world.is_quarantined(began):
                    raise Wrong("a token that was presented twice at once signs in nobody")
                return "refused"
            kept = Session(
                "cookie",
                signed_in[0].cookies()["sallyport"],
                session.user,
                session.email,
                "transfer",
                session.source,
                session,
            )
            self.world.put(self.world.browsers, kept)
            self.world.put(self.world.used, (token, session.source))
        return "ok"
