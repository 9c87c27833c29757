"""An OpenID provider in this process, with as many users as asked for, that is slow or away when it is told to be."""

import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
import urllib.parse

from judge import Judge
from provider import Key, coded

CLIENT, SECRET = "gateway", "secret-of-the-gateway-at-its-provider"


class Provider:
    """What it knows. It gives another refresh token each time, and ends a user's grant if one comes twice."""

    def __init__(self, port: int, key: Key, judge: Judge):
        self.port, self.key, self.judge = port, key, judge
        self.issuer = f"http://127.0.0.1:{port}"
        self.lock = threading.Lock()
        self.codes: dict[str, dict[str, str]] = {}
        # The users of refresh tokens, and of those that were used.
        self.tokens: dict[str, str] = {}
        self.used: dict[str, str] = {}
        self.delay = 0.0
        # Answers 503 to everything.
        self.is_failing = False
        self.server: Server | None = None

    def start(self):
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.provider = self
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        """Refuses connections. Calls on those that are kept get 503, and their connections close."""
        self.is_failing = True
        if self.server:
            self.server.shutdown()
            self.server.server_close()

    # Answers

    def metadata(self) -> dict:
        places = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        return {name: self.issuer + path for name, path in places.items()} | {
            "issuer": self.issuer,
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "scopes_supported": ["openid", "offline_access"],
        }

    def keys(self) -> dict:
        modulus = coded(self.key.modulus.to_bytes(256, "big"))
        return {"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "e": "AQAB", "n": modulus}]}

    def code(self, asked: dict[str, str]) -> str:
        code = secrets.token_urlsafe(24)
        with self.lock:
            self.codes[code] = asked
        back = urllib.parse.urlencode({"code": code, "state": asked["state"]})
        return f"{asked['redirect_uri']}?{back}"

    def redeemed(self, sent: dict[str, str]) -> tuple[int, dict]:
        with self.lock:
            asked = self.codes.pop(sent.get("code", ""), None)
        proof = coded(hashlib.sha256(sent.get("code_verifier", "").encode()).digest())
        if asked is None or asked.get("code_challenge") != proof:
            return 400, {"error": "invalid_grant"}
        now, user = int(time.time()), asked["user"]
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": user, "iat": now, "exp": now + 300, "auth_time": now}
        claims |= {"email": f"{user}@example.com", "email_verified": True, "name": user, "nonce": asked["nonce"]}
        self.judge.said_yes[user] = time.time()
        return 200, self.issued(user) | {"id_token": self.key.token(claims)}

    def refreshed(self, sent: dict[str, str]) -> tuple[int, dict]:
        with self.lock:
            token = sent.get("refresh_token", "")
            user = self.tokens.pop(token, None)
            if user is not None:
                self.used[token] = user
        if user is None:
            self.judge.reused(self.used.get(token, "nobody"))
            return 400, {"error": "invalid_grant"}
        if user in self.judge.disabled:
            self.judge.no(user)
            return 400, {"error": "invalid_grant"}
        self.judge.yes(user, time.time())
        return 200, self.issued(user)

    def issued(self, user: str) -> dict:
        token = secrets.token_urlsafe(24)
        with self.lock:
            self.tokens[token] = user
        tokens = {"access_token": secrets.token_urlsafe(24), "token_type": "Bearer", "expires_in": 3600}
        return tokens | {"refresh_token": token, "scope": "openid offline_access"}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    provider: Provider


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *arguments):
        pass

    def answer(self, status: int, document: dict, **fields: str):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, value)
        try:
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            # The gateway has waited for as long as it waits for an answer.
            self.server.provider.judge.given_up()
            self.close_connection = True

    def fails(self) -> bool:
        if not self.server.provider.is_failing:
            return False
        self.close_connection = True
        self.answer(503, {"error": "temporarily_unavailable"}, Connection="close")
        return True

    def do_GET(self):
        provider, url = self.server.provider, urllib.parse.urlsplit(self.path)
        if self.fails():
            return
        if url.path == "/.well-known/openid-configuration":
            self.answer(200, provider.metadata())
        elif url.path == "/jwks":
            self.answer(200, provider.keys())
        elif url.path == "/authorize":
            self.answer(302, {}, Location=provider.code(dict(urllib.parse.parse_qsl(url.query))))
        else:
            self.answer(404, {"error": "not_found"})

    def do_POST(self):
        provider = self.server.provider
        sent = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        basic = base64.b64decode(self.headers.get("Authorization", "Basic ")[6:]).decode()
        is_refresh = sent.get("grant_type") == "refresh_token"
        if is_refresh:
            provider.judge.begins()
        try:
            if self.fails():
                return
            if basic != f"{CLIENT}:{SECRET}":
                self.answer(401, {"error": "invalid_client"})
            elif is_refresh:
                time.sleep(provider.delay)
                self.answer(*provider.refreshed(sent))
            else:
                self.answer(*provider.redeemed(sent))
        finally:
            if is_refresh:
                provider.judge.ends()
