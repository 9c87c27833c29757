#!/usr/bin/env python3
"""A small OpenID provider: provider.py PORT KEY

It signs in whom `user` in the query of `/authorize` names. KEY is the text of `openssl rsa -text` with its RSA key.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import re
import secrets
import sys
import threading
import time
import urllib.parse

CLIENT, SECRET = "gateway", "secret-of-the-gateway-at-its-provider"


def coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """An RSA key, and RS256 with it (RFC 8017, 8.2 and 9.2)."""

    def __init__(self, text: str):
        def number(name: str) -> int:
            digits = re.search(rf"^{name}:\s*((?:[0-9a-f]{{2}}:?\s*)+)$", text, re.MULTILINE)[1]
            return int(re.sub(r"[^0-9a-f]", "", digits), 16)

        self.modulus, self.p, self.q = number("modulus"), number("prime1"), number("prime2")
        self.p_power, self.q_power, self.inverse = number("exponent1"), number("exponent2"), number("coefficient")

    def sign(self, message: bytes) -> bytes:
        info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(message).digest()
        value = int.from_bytes(b"\0\1" + b"\xff" * (253 - len(info)) + b"\0" + info, "big")
        first, second = pow(value, self.p_power, self.p), pow(value, self.q_power, self.q)
        return (second + (self.inverse * (first - second) % self.p) * self.q).to_bytes(256, "big")

    def token(self, claims: dict) -> str:
        signed = ".".join(
            coded(json.dumps(part).encode()) for part in [{"alg": "RS256", "kid": "1", "typ": "JWT"}, claims]
        )
        return f"{signed}.{coded(self.sign(signed.encode()))}"


class Provider(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, key: Key):
        super().__init__(("127.0.0.1", port), Handler)
        self.key, self.issuer = key, f"http://127.0.0.1:{port}"
        self.codes: dict[str, dict] = {}
        self.lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def log_message(self, *arguments):
        pass

    def answer(self, document: dict, status: int = 200, **fields: str):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        issuer = self.server.issuer
        if url.path == "/.well-known/openid-configuration":
            places = {
                "authorization_endpoint": "/authorize",
                "token_endpoint": "/token",
                "jwks_uri": "/jwks",
                "end_session_endpoint": "/end",
            }
            self.answer(
                {name: issuer + path for name, path in places.items()}
                | {"issuer": issuer, "response_types_supported": ["code"], "subject_types_supported": ["public"]}
                | {"id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"]}
                | {"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
            )
        elif url.path == "/jwks":
            modulus = coded(self.server.key.modulus.to_bytes(256, "big"))
            self.answer({"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "e": "AQAB", "n": modulus}]})
        elif url.path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(url.query))
            code = secrets.token_urlsafe(24)
            with self.server.lock:
                self.server.codes[code] = asked
            back = urllib.parse.urlencode({"code": code, "state": asked["state"], "iss": issuer})
            self.answer({}, 302, Location=f"{asked['redirect_uri']}?{back}")
        else:
            self.answer({"error": "not_found"}, 404)

    def do_POST(self):
        sent = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        basic = base64.b64decode(self.headers.get("Authorization", "Basic ")[6:]).decode()
        with self.server.lock:
            asked = self.server.codes.pop(sent.get("code", ""), None)
        proof = coded(hashlib.sha256(sent.get("code_verifier", "").encode()).digest())
        if basic != f"{CLIENT}:{SECRET}":
            self.answer({"error": "invalid_client"}, 401)
        elif self.path != "/token" or asked is None or asked.get("code_challenge") != proof:
            self.answer({"error": "invalid_grant"}, 400)
        else:
            now, user = int(time.time()), asked["user"]
            claims = {"iss": self.server.issuer, "aud": CLIENT, "sub": user, "iat": now, "exp": now + 300}
            claims |= {
                "email": f"{user}@example.com",
                "email_verified": True,
                "name": user,
                "sid": secrets.token_hex(8),
            }
            if nonce := asked.get("nonce"):
                claims["nonce"] = nonce
            tokens = {"access_token": secrets.token_urlsafe(24), "token_type": "Bearer", "expires_in": 300}
            self.answer(tokens | {"id_token": self.server.key.token(claims)})


if __name__ == "__main__":
    Provider(int(sys.argv[1]), Key(pathlib.Path(sys.argv[2]).read_text())).serve_forever()
