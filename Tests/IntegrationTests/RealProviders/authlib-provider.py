"""A server of plain OAuth 2.0 on a loopback port: PyPI's Authlib with Django, as its documentation puts them together.

    python authlib-provider.py PORT FOLDER REDIRECT_URI SECRET

It has no discovery, no id_token and no page for sign-outs: whoever is signed in here is asked whether to go on. Users are
Django's, and sign in at Django's own page. FOLDER holds the database. `POST /disable` makes all users inactive, whose tokens
do not count any more.
"""
import os
import signal
import sys
import time
from socketserver import ThreadingMixIn
from wsgiref import simple_server
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

# Authlib refuses plain http without it.
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "true"

import django
from django.conf import settings

PORT, FOLDER, REDIRECT_URI, SECRET = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
USERS = {"ada": ("Ada Lovelace", "ada@example.com", "analytical-engine"),
         "grace": ("Grace Hopper", "grace@example.org", "nanoseconds")}
HEAD = '<!doctype html><html lang=en><meta name=viewport content="width=device-width"><title>{title}</title>'
PAGES = {
    "registration/login.html": HEAD.format(title="Hub: sign in") + """<h1>Sign in to Hub</h1>
<form method=post>{% csrf_token %}{{ form.as_p }}<input type=hidden name=next value="{{ next }}">
<button>Sign in</button></form>""",
    "consent.html": HEAD.format(title="Hub: authorise") + """<h1>Authorise {{ client.client_id }}</h1>
<form method=post>{% csrf_token %}<p>It will know your name and your address, {{ user.username }}.</p>
<button name=confirm value=yes>Authorise</button> <button name=confirm value=no>Cancel</button></form>""",
}

settings.configure(
    SECRET_KEY=os.urandom(32).hex(),
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    # Each server has cookies of its own: browsers send those of one port to all.
    SESSION_COOKIE_NAME="hub_session",
    CSRF_COOKIE_NAME="hub_csrf",
    LOGIN_URL="/login",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(FOLDER, "hub.sqlite3")}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "loaders": [("django.template.loaders.locmem.Loader", PAGES)],
            "context_processors": ["django.template.context_processors.request",
                                   "django.contrib.auth.context_processors.auth"],
        },
    }],
    AUTHLIB_OAUTH2_PROVIDER={"scopes_supported": ["user"]},
)
django.setup()

from authlib.integrations.django_oauth2 import AuthorizationServer, BearerTokenValidator, ResourceProtector
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants, list_to_scope, scope_to_list
from authlib.oauth2.rfc7636 import CodeChallenge
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import connection, models
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt


class Client(models.Model, ClientMixin):
    client_id = models.CharField(max_length=48, unique=True)
    client_secret = models.CharField(max_length=120)
    redirect_uri = models.TextField()

    class Meta:
        app_label = "hub"

    def get_client_id(self):
        return self.client_id

    def get_default_redirect_uri(self):
        return self.redirect_uri

    def get_allowed_scope(self, scope):
        return list_to_scope([name for name in scope_to_list(scope or "") if name == "user"])

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri == self.redirect_uri

    def check_client_secret(self, client_secret):
        return client_secret == self.client_secret

    def check_endpoint_auth_method(self, method, endpoint):
        return method in ("client_secret_basic", "client_secret_post")

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type == "authorization_code"


class Code(models.Model, AuthorizationCodeMixin):
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    client_id = models.CharField(max_length=48)
    code = models.CharField(max_length=120, unique=True)
    redirect_uri = models.TextField()
    scope = models.TextField()
    code_challenge = models.TextField()
    code_challenge_method = models.TextField()

    class Meta:
        app_label = "hub"

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


class Token(models.Model, TokenMixin):
    user = models.ForeignKey(User, on_delete=models.CASCADE)
    client_id = models.CharField(max_length=48)
    token_type = models.CharField(max_length=40)
    access_token = models.CharField(max_length=255, unique=True)
    scope = models.TextField()
    issued_at = models.IntegerField(default=lambda: int(time.time()))
    expires_in = models.IntegerField()

    class Meta:
        app_label = "hub"

    def get_scope(self):
        return self.scope

    def get_expires_in(self):
        return self.expires_in

    def is_expired(self):
        return self.issued_at + self.expires_in < time.time()

    def is_revoked(self):
        return not self.user.is_active


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic", "client_secret_post"]

    def save_authorization_code(self, code, request):
        data = request.payload.data
        return Code.objects.create(
            user=request.user, client_id=request.client.client_id, code=code, redirect_uri=data["redirect_uri"],
            scope=data.get("scope", ""), code_challenge=data["code_challenge"],
            code_challenge_method=data["code_challenge_method"])

    def query_authorization_code(self, code, client):
        return Code.objects.filter(code=code, client_id=client.client_id).first()

    def delete_authorization_code(self, authorization_code):
        authorization_code.delete()

    def authenticate_user(self, authorization_code):
        return authorization_code.user


server = AuthorizationServer(Client, Token)
server.register_grant(CodeGrant, [CodeChallenge(required=True)])
protector = ResourceProtector()
protector.register_token_validator(BearerTokenValidator(Token))


@login_required
def authorize(request):
    try:
        grant = server.get_consent_grant(request, end_user=request.user)
    except OAuth2Error as error:
        return HttpResponse(f"{error.error}: {error.description}", status=400, content_type="text/plain")
    if request.method == "GET":
        return render(request, "consent.html", {"client": grant.client})
    granting = request.user if request.POST.get("confirm") == "yes" else None
    return server.create_authorization_response(request, grant_user=granting, grant=grant)


@csrf_exempt
def token(request):
    return server.create_token_response(request)


@protector("user")
def user(request):
    owner = request.oauth_token.user
    return JsonResponse({"id": owner.pk, "login": owner.username, "name": owner.get_full_name(), "email": owner.email})


@csrf_exempt
def disable(request):
    User.objects.update(is_active=False)
    return HttpResponse()


urlpatterns = [path("login", LoginView.as_view()), path("authorize", authorize), path("token", token), path("user", user),
               path("disable", disable)]


class Answer(simple_server.ServerHandler):
    """HTTP/1.1, with one request a connection."""
    http_version = "1.1"

    def send_preamble(self):
        super().send_preamble()
        self._write(b"Connection: close\r\n")


simple_server.ServerHandler = Answer


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


call_command("migrate", verbosity=0)
with connection.schema_editor() as editor:
    for model in (Client, Code, Token):
        editor.create_model(model)
Client.objects.create(client_id="gateway", client_secret=SECRET, redirect_uri=REDIRECT_URI)
for login, (name, email, password) in USERS.items():
    first, last = name.split()
    User.objects.create_user(login, email, password, first_name=first, last_name=last)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
make_server("127.0.0.1", PORT, get_wsgi_application(), Server, Handler).serve_forever()
