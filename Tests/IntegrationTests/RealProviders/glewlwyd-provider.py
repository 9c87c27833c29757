"""Prepares Debian's glewlwyd as an OpenID provider on a loopback port.

    python glewlwyd-provider.py make PORT FOLDER    database and settings, before the program starts
    python glewlwyd-provider.py setup PORT FOLDER ORIGIN CALLBACK SECRET LIFE  users, and the gateway at ORIGIN as client
    python glewlwyd-provider.py rotate PORT FOLDER  signs with a new key
    python glewlwyd-provider.py end PORT FOLDER     accepts no refresh token of its users any more

CALLBACK is the path to which it sends browsers back. LIFE is the life of access tokens in seconds.
"""
import base64
import gzip
import http.client
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.parse

PORT, FOLDER = int(sys.argv[2]), sys.argv[3]
URL = f"http://127.0.0.1:{PORT}"
ISSUER = URL + "/api/oidc"
USERS = {
    "ada": ("Ada Lovelace", "ada@example.com", "analytical-engine"),
    "grace": ("Grace Hopper", "grace@example.org", "nanoseconds"),
}
CONFIG = f"""
port = {PORT}
bind_address = "127.0.0.1"
external_url = "{URL}"
login_url = "login.html"
api_prefix = "api"
static_files_path = "{FOLDER}/webapp/"
log_mode = "console"
log_level = "WARNING"
cookie_secure = 0
session_key = "GLEWLWYD2_SESSION_ID"
admin_scope = "g_admin"
profile_scope = "g_profile"
user_module_path = "/usr/lib/glewlwyd/user"
user_middleware_module_path = "/usr/lib/glewlwyd/user_middleware"
client_module_path = "/usr/lib/glewlwyd/client"
user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
plugin_module_path = "/usr/lib/glewlwyd/plugin"
hash_algorithm = "SHA512"
database = {{ type = "sqlite3"; path = "{FOLDER}/glewlwyd.db"; }};
static_files_mime_types = (
  {{ extension = ".html"; mime_type = "text/html"; compress = 0; }},
  {{ extension = ".css"; mime_type = "text/css"; compress = 0; }},
  {{ extension = ".js"; mime_type = "application/javascript"; compress = 0; }},
  {{ extension = ".json"; mime_type = "application/json"; compress = 0; }}
)
"""


class Session:
    """glewlwyd's own interface, as its web pages use it, for a user who has signed in."""

    def __init__(self, user="admin", password="password"):
        self.cookie = ""
        self.call("POST", "/auth", {"username": user, "password": password})

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        fields = {"Content-Type": "application/json", "Cookie": self.cookie}
        connection.request(method, "/api" + path, body and json.dumps(body), fields)
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {text}")
        self.cookie = (answer.getheader("Set-Cookie") or self.cookie).split(";")[0]
        return json.loads(text) if text else None


def private_key(name):
    """A new key of the provider."""
    pem = subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout"],
                         capture_output=True, check=True).stdout
    text = subprocess.run(["openssl", "ec", "-text", "-noout"], input=pem, capture_output=True, check=True).stdout
    private, public = re.search(rb"priv:(.*)pub:(.*)ASN1 OID", text, re.S).groups()
    number = lambda digits: int(re.sub(rb"[^0-9a-f]", b"", digits), 16)
    coded = lambda value: base64.urlsafe_b64encode(value.to_bytes(32, "big")).rstrip(b"=").decode()
    # An uncompressed point: 4, x, y.
    x, y = divmod(number(public) - (4 << 512), 1 << 256)
    return {"kty": "EC", "crv": "P-256", "kid": name, "alg": "ES256", "use": "sig",
            "d": coded(number(private)), "x": coded(x), "y": coded(y)}


def plugin(keys, life):
    return {
        "module": "oidc",
        "name": "oidc",
        "display_name": "OpenID Connect",
        "enabled": True,
        "parameters": {
            "iss": ISSUER,
            "jwks-private": json.dumps({"keys": keys}),
            "jwks-show": True,
            "default-kid": keys[0]["kid"],
            "access-token-duration": life,
            "refresh-token-duration": 1209600,
            "refresh-token-rolling": True,
            "refresh-token-one-use": "always",
            "code-duration": 600,
            "allow-non-oidc": False,
            "auth-type-code-enabled": True,
            "auth-type-refresh-enabled": True,
            "oauth-as-iss-id": True,
            "subject-type": "public",
            "name-claim": "mandatory",
            "email-claim": "mandatory",
            "scope-claim": "no",
            "address-claim": {"type": "no"},
            "resource-allowed": True,
            "resource-client-property": "resource",
            "resource-change-allowed": False,
            "pkce-allowed": True,
            "pkce-required": True,
            "introspection-revocation-allowed": True,
            "introspection-revocation-allow-target-client": True,
            "session-management-allowed": True,
            "session-cookie-name": "GLEWLWYD2_OIDC_SID",
            "session-cookie-expiration": 2419200,
            "back-channel-logout-allowed": True,
            "front-channel-logout-allowed": True,
        },
    }


def make():
    """The database as glewlwyd's manual says it, and the program's settings."""
    with open(os.path.join(FOLDER, "glewlwyd.conf"), "w") as file:
        file.write(CONFIG)
    # Its pages, with the settings of Debian's package, which links them as a folder.
    pages = os.path.join(FOLDER, "webapp")
    shutil.copytree("/usr/share/glewlwyd/webapp", pages, ignore=shutil.ignore_patterns("config.json"))
    settings = os.path.realpath("/usr/share/glewlwyd/webapp/config.json")
    if os.path.isdir(settings):
        settings = os.path.join(settings, "config.json")
    shutil.copy(settings, os.path.join(pages, "config.json"))
    database = sqlite3.connect(os.path.join(FOLDER, "glewlwyd.db"))
    with gzip.open("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz", "rt") as script:
        database.executescript(script.read())
    # The plugin reads this property of clients, which the script does not declare.
    parameters = json.loads(database.execute("SELECT gcmi_parameters FROM g_client_module_instance").fetchone()[0])
    parameters["data-format"]["post_logout_redirect_uris"] = {"multiple": True, "read": True, "write": True}
    database.execute("UPDATE g_client_module_instance SET gcmi_parameters = ?", [json.dumps(parameters)])
    database.commit()
    database.close()


def set_up():
    """Users, their consent, the gateway as client, and the plugin that speaks OpenID Connect."""
    origin, callback, secret, life = sys.argv[4:8]
    admin = Session()
    for scope in ["profile", "email", "offline_access"]:
        admin.call("POST", "/scope", {"name": scope, "display_name": scope, "password_required": False, "scheme": {}})
    admin.call("POST", "/mod/plugin", plugin([private_key("key-0")], int(life)))
    admin.call("POST", "/client", {
        "client_id": "gateway",
        "name": "Gateway",
        "enabled": True,
        "confidential": True,
        "client_secret": secret,
        "redirect_uri": [origin + callback],
        "post_logout_redirect_uris": [origin + "/.sallyport/signed-out"],
        "backchannel_logout_uri": origin + "/.sallyport/backchannel-logout",
        "backchannel_logout_session_required": "true",
        "authorization_type": ["code", "refresh_token", "client_credentials"],
        "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"],
        "resource": ["https://api.example.com"],
        "scope": [],
    })
    for user, (name, email, password) in USERS.items():
        scopes = ["openid", "profile", "email", "offline_access"]
        admin.call("POST", "/user", {"username": user, "name": name, "email": email, "password": password,
                                     "enabled": True, "scope": scopes + ["g_profile"]})
        own = Session(user, password)
        own.call("PUT", "/auth/grant/gateway", {"scope": " ".join(scopes)})


def rotate():
    """Signs with a new key from now on, and goes on to publish the old ones."""
    admin = Session()
    current = admin.call("GET", "/mod/plugin/oidc")
    keys = json.loads(current["parameters"]["jwks-private"])["keys"]
    keys.insert(0, private_key(f"key-{len(keys)}"))
    current["parameters"] |= {"jwks-private": json.dumps({"keys": keys}), "default-kid": keys[0]["kid"]}
    admin.call("PUT", "/mod/plugin/oidc", current)
    admin.call("PUT", "/mod/plugin/oidc/reset")


def end():
    """Each user revokes the refresh tokens of all clients, as at glewlwyd's page of the user's profile."""
    for user, (_, _, password) in USERS.items():
        own = Session(user, password)
        for token in own.call("GET", "/oidc/token"):
            if token["enabled"]:
                own.call("DELETE", "/oidc/token/" + urllib.parse.quote(token["token_hash"], safe=""))


{"make": make, "setup": set_up, "rotate": rotate, "end": end}[sys.argv[1]]()
