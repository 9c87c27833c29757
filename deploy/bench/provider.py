"""The smallest OpenID provider: it knows one user, who has always signed in, and serves metadata, keys and tokens."""

import base64
import hashlib
import http.server
import json
import pathlib
import re
import secrets
import subprocess
import threading
import time
import urllib.parse

# What PKCS #1 v1.5 puts before a SHA-256 (RFC 8017 9.2).
SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
PATHS = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}


class Provider:
    def __init__(self, folder: pathlib.Path):
        key = folder / "provider.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        shown = subprocess.run(["openssl", "rsa", "-in", key, "-noout", "-text"], check=True, capture_output=True, text=True)
        self.modulus, self.exponent = (number(shown.stdout, name) for name in ["modulus", "privateExponent"])
        self.nonces: dict[str, str] = {}
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                answer = json.dumps(provider.document(self.path, dict(urllib.parse.parse_qsl(body)))).encode()
                head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"
                self.wfile.write(f"{head}Content-Length: {len(answer)}\r\n\r\n".encode() + answer)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.issuer = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def callback(self, url: str) -> str:
        """Where the browser is sent back that comes to the authorization endpoint with this URL."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        code = secrets.token_urlsafe(16)
        self.nonces[code] = asked.get("nonce", "")
        return f"{asked['redirect_uri']}?{urllib.parse.urlencode({'code': code, 'state': asked['state'], 'iss': self.issuer})}"

    def document(self, path: str, form: dict[str, str]) -> dict:
        if path == "/keys":
            key = {"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "e": "AQAB", "n": text_of(octets(self.modulus))}
            return {"keys": [key]}
        if path == "/token":
            tokens = {"access_token": "opaque", "id_token": self.id_token(form["code"])}
            return tokens | {"token_type": "Bearer", "expires_in": 3600}
        return {
            "issuer": self.issuer,
            **{name: self.issuer + place for name, place in PATHS.items()},
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }

    def id_token(self, code: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "gateway", "sub": "ada", "iat": now, "exp": now + 600, "auth_time": now}
        claims |= {"nonce": self.nonces[code], "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": True}
        parts = [text_of(json.dumps(part).encode()) for part in [{"alg": "RS256", "kid": "1"}, claims]]
        digest = SHA256 + hashlib.sha256(".".join(parts).encode()).digest()
        padded = b"\x00\x01" + b"\xff" * (256 - 3 - len(digest)) + b"\x00" + digest
        signature = pow(int.from_bytes(padded, "big"), self.exponent, self.modulus)
        return ".".join([*parts, text_of(octets(signature))])


def number(text: str, name: str) -> int:
    """A number of a key as openssl prints it."""
    lines = re.search(rf"^{name}:\n((?: +[0-9a-f:]+\n)+)", text, re.MULTILINE)[1]
    return int(re.sub(r"[^0-9a-f]", "", lines), 16)


def octets(value: int) -> bytes:
    return value.to_bytes(256, "big")


def text_of(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
