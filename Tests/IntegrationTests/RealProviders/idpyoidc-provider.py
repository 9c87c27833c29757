"""An OpenID provider of PyPI's idpyoidc on a loopback port, as its example for Flask serves it, but without Flask.

    python idpyoidc-provider.py PORT FOLDER LIFE

LIFE is the life of access tokens in seconds. FOLDER holds `clients.json` (idpyoidc's client database). Keys and sessions are kept there, so that a provider that is
started again knows them. `POST /control/rotate` signs with new keys from then on and goes on to publish the old ones.
`POST /control/disable` disables the accounts: from then on refresh tokens are refused.
"""
import html
import json
import os
import signal
import sys
import threading
from http import cookies
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from cryptojwt.key_jar import build_keyjar
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.message.oidc import AuthorizationRequest
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import ClientAuthenticationError, FailedAuthentication

PORT, FOLDER, LIFE = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
ISSUER = f"http://127.0.0.1:{PORT}"
KEYS = [{"type": "RSA", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]}]
# The encryption of session ids, which are in tokens and cookies.
SESSION_KEYS = {
    "private_path": os.path.join(FOLDER, "session-keys.json"),
    "key_defs": [{"type": "OCT", "use": ["enc"], "kid": kid} for kid in ["password", "salt"]],
    "read_only": False,
}
PASSWORDS = {"ada": "analytical-engine", "grace": "nanoseconds"}
USERS = {
    "ada": {"name": "Ada Lovelace", "email": "ada@example.com", "email_verified": True},
    "grace": {"name": "Grace Hopper", "email": "grace@example.org", "email_verified": True},
}


def file(name):
    return os.path.join(FOLDER, name)


# The page on which users type their passwords.
FORM = """<!doctype html><meta name=viewport content="width=device-width"><title>Log in</title>
<form method=post action="{{ action }}"><input type=hidden name=token value="{{ token }}">
<label>Name <input name=username></label> <label>Password <input name=password type=password></label>
<button>Log in</button></form>"""


def configuration():
    post = {"client_authn_method": ["client_secret_post", "client_secret_basic"]}
    endpoint = lambda path, name, **kwargs: {"path": path, "class": f"idpyoidc.server.{name}", "kwargs": kwargs}
    return {
        "issuer": ISSUER,
        "keys": {"private_path": file("keys.json"), "key_defs": KEYS, "read_only": False, "uri_path": "jwks"},
        "add_on": {
            "pkce": {
                "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                "kwargs": {"essential": True, "code_challenge_method": "S256"},
            }
        },
        "preference": {
            "subject_types_supported": ["public"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
        },
        "session_params": {"encrypter": {"kwargs": {"keys": SESSION_KEYS}}},
        "authz": {
            "class": "idpyoidc.server.authz.AuthzHandling",
            "kwargs": {
                "grant_config": {
                    "usage_rules": {
                        "authorization_code": {
                            "supports_minting": ["access_token", "refresh_token", "id_token"],
                            "max_usage": 1,
                        },
                        "access_token": {"expires_in": LIFE},
                        "refresh_token": {"supports_minting": ["access_token", "refresh_token", "id_token"]},
                    },
                    "expires_in": 43200,
                }
            },
        },
        "authentication": {
            "user": {
                "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
                "class": "idpyoidc.server.user_authn.user.UserPassJinja2",
                "kwargs": {
                    "verify_endpoint": "/verify/user",
                    "template": "form",
                    "db": {"class": "idpyoidc.server.util.JSONDictDB", "kwargs": {"filename": file("passwords.json")}},
                },
            }
        },
        "cookie_handler": {
            "class": "idpyoidc.server.cookie_handler.CookieHandler",
            "kwargs": {
                "sign_key": "ghsNKDDLshZTPn974nOsIGhedULrsqnsGoBFBLwUKuI",
                "enc_key": "NXi6HD473d_YS4exVRn7z9z23mGmvU641MuvKqH0o7Y",
                "name": {"session": "op", "register": "op_rp", "session_management": "op_sman"},
            },
        },
        "endpoint": {
            "provider_info": endpoint(".well-known/openid-configuration", "oidc.provider_config.ProviderConfiguration"),
            "authorization": endpoint(
                "authorization", "oidc.authorization.Authorization", response_types_supported=["code"]
            ),
            "token": endpoint("token", "oidc.token.Token", revoke_refresh_on_issue=True, **post),
            "userinfo": endpoint("userinfo", "oidc.userinfo.UserInfo"),
            "revocation": endpoint("revocation", "oauth2.token_revocation.TokenRevocation", **post),
            "introspection": endpoint("introspection", "oauth2.introspection.Introspection", **post),
            "session": endpoint(
                "session",
                "oidc.session.Session",
                logout_verify_url=ISSUER + "/verify_logout",
                post_logout_uri_path="post_logout",
                signing_alg="ES256",
            ),
        },
        "httpc_params": {"verify": False, "timeout": 10},
        "template_dir": FOLDER,
        "token_handler_args": {
            "jwks_def": {
                "private_path": file("token-keys.json"),
                "read_only": False,
                "key_defs": [{"type": "oct", "bytes": 24, "use": ["enc"], "kid": "code"}],
            },
            "code": {"lifetime": 600},
            "token": {
                "class": "idpyoidc.server.token.jwt_token.JWTToken",
                "kwargs": {"lifetime": LIFE},
            },
            "refresh": {"class": "idpyoidc.server.token.jwt_token.JWTToken", "kwargs": {"lifetime": 86400}},
            "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {}},
        },
        "userinfo": {"class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": USERS}},
    }


class Provider:
    """idpyoidc's server, with what it stores in files. One request at a time, because it is not made for threads."""

    def __init__(self):
        self.lock = threading.Lock()
        # idpyoidc has tokens and no accounts: whoever builds a provider with it refuses their users.
        self.is_disabled = False
        with open(file("passwords.json"), "w") as passwords:
            json.dump(PASSWORDS, passwords)
        with open(file("form"), "w") as form:
            form.write(FORM)
        self.server = Server(OPConfiguration(conf=configuration(), base_path=FOLDER), cwd=FOLDER)
        self.context = self.server.context
        # A browser asks for a sign-out, which has no client authentication. idpyoidc 5.0.0 fails if it finds any.
        self.server.get_endpoint("session").client_authentication = lambda *_, **__: {}
        with open(file("clients.json")) as clients:
            for client, info in json.load(clients).items():
                self.context.cdb[client] = {"client_id": client} | info
                self.context.keyjar.add_symmetric(client, info["client_secret"])
        if os.path.exists(file("sessions.json")):
            with open(file("sessions.json")) as sessions:
                self.context.session_manager.load(json.load(sessions))

    def save(self):
        with open(file("sessions.new"), "w") as sessions:
            json.dump(self.context.session_manager.dump(), sessions)
        os.replace(file("sessions.new"), file("sessions.json"))

    def rotate(self):
        """Signs with new keys. Those of before stay published, as at providers that rotate their keys."""
        # cryptojwt's own rotation goes on to sign with the old keys. The first key that fits is used.
        keyjar, new = self.context.keyjar, build_keyjar(KEYS)
        for owner in ["", ISSUER]:
            for bundle in new[""]:
                keyjar[owner]._bundles.insert(0, bundle)
        keys = keyjar.export_jwks(private=True)
        with open(file("keys.new"), "w") as stored:
            json.dump(keys, stored)
        os.replace(file("keys.new"), file("keys.json"))

    def answer(self, handler, method, path, query, form):
        """(status, fields, body) of a request."""
        with self.lock:
            if path == "/jwks":
                return 200, [("Content-Type", "application/json")], self.context.keyjar.export_jwks_as_json()
            if path == "/control/rotate":
                self.rotate()
                return 200, [], ""
            if path == "/control/disable":
                self.is_disabled = True
                return 200, [], ""
            result = self.page(handler, method, path, query, form)
            self.save()
            return result

    def page(self, handler, method, path, query, form):
        if path == "/verify/user":
            return self.verified(handler, form)
        if path == "/verify_logout":
            token = html.escape(query["sjwt"])
            return page(f"<form method=post action=/rp_logout><input type=hidden name=sjwt value={token}>"
                        "<button name=logout value=yes>Log out</button></form>")
        if path == "/rp_logout":
            return self.signed_out(form)
        for endpoint in self.server.endpoint.values():
            if urlsplit(endpoint.full_path).path == path:
                return self.at(endpoint, handler, method, query if method == "GET" else form)
        return 404, [], ""

    def info(self, handler, method):
        jar = cookies.SimpleCookie(handler.headers.get("Cookie", ""))
        return {
            "headers": {name.lower(): value for name, value in handler.headers.items()},
            "method": method,
            "url": ISSUER + handler.path,
            "cookie": [{"name": name, "value": morsel.value} for name, morsel in jar.items()],
        }

    def at(self, endpoint, handler, method, fields):
        info = self.info(handler, method)
        try:
            request = endpoint.parse_request(fields, http_info=info)
        except ClientAuthenticationError as error:
            return problem(401, "invalid_client", error)
        except Exception as error:
            return problem(400, "invalid_request", error)
        if isinstance(request, ResponseMessage) and "error" in request:
            return 400, [("Content-Type", "application/json")], request.to_json()
        if self.is_disabled and request.get("grant_type") == "refresh_token":
            return problem(400, "invalid_grant", "the account is disabled")
        try:
            arguments = endpoint.process_request(request, http_info=info)
        except Exception as error:
            return problem(400, "invalid_request", error)
        if "redirect_location" in arguments:
            return 302, [("Location", arguments["redirect_location"])], ""
        if "http_response" in arguments:
            return page(arguments["http_response"])
        if isinstance(arguments, ResponseMessage) and "error" in arguments:
            return 400, [("Content-Type", "application/json")], arguments.to_json()
        return self.response(endpoint, request, arguments)

    def response(self, endpoint, request, arguments):
        info = endpoint.do_response(request=request, **arguments)
        fields = list(info["http_headers"])
        cookie = info.get("cookie", [])
        for spec in cookie if isinstance(cookie, list) else [cookie]:
            fields.append(("Set-Cookie", f"{spec['name']}={spec['value']}; Path=/; HttpOnly; SameSite=Lax"))
        if info.get("response_placement", endpoint.response_placement) == "url":
            return 302, [("Location", info["response"])] + fields, ""
        return info.get("response_code", 200), fields, info["response"] or ""

    def verified(self, handler, form):
        method = self.context.authn_broker.get_method_by_id("user")
        try:
            user = method.verify(**form)
        except FailedAuthentication:
            return page("Authentication failed", 403)
        asked = method.unpack_token(form["token"])
        request = AuthorizationRequest().from_urlencoded(asked["query"])
        endpoint = self.server.get_endpoint("authorization")
        session = endpoint.create_session(request, user, asked["authn_class_ref"], asked["iat"], method)
        arguments = endpoint.authz_part2(request=request, session_id=session)
        if isinstance(arguments, ResponseMessage) and "error" in arguments:
            return problem(400, arguments["error"], "")
        return self.response(endpoint, request, arguments)

    def signed_out(self, form):
        endpoint = self.server.get_endpoint("session")
        info = endpoint.unpack_signed_jwt(form["sjwt"])
        # The gateway's own calls back to this provider must not wait for this request.
        self.lock.release()
        try:
            endpoint.do_verified_logout(alla="logout" in form, sid=info["sid"])
        finally:
            self.lock.acquire()
        fields = [("Set-Cookie", f"{cookie['name']}=; Path=/; Max-Age=0") for cookie in endpoint.kill_cookies()]
        return 302, [("Location", info["redirect_uri"])] + fields, ""


def page(text, status=200):
    return status, [("Content-Type", "text/html; charset=utf-8")], text


def problem(status, error, reason):
    body = json.dumps({"error": error, "error_description": str(reason)})
    return status, [("Content-Type", "application/json")], body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.serve("GET", {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.serve("POST", dict(parse_qsl(body, keep_blank_values=True)))

    def serve(self, method, form):
        url = urlsplit(self.path)
        status, fields, body = provider.answer(self, method, url.path, dict(parse_qsl(url.query)), form)
        body = body.encode()
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


provider = Provider()
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
