#!/usr/bin/env python3
"""A client and an app that trace by OpenTelemetry's own SDK, for tests.

traced-peers.py PORT COLLECTOR: an app whose spans continue the trace that a request names.
traced-peers.py client COLLECTOR GATEWAY: a user signs in in a browser at an idpyoidc behind the gateway, and in a native app, whose
session a second browser takes over by a transfer token. All of it is one trace, whose id is printed.
"""
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urljoin, urlsplit

import requests
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

BACK = "myapp://auth/callback"
PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none"}


def tracer(name, collector):
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{collector}/v1/traces")))
    return provider.get_tracer(name)


def serve(port, collector):
    spans = tracer("app", collector)

    class App(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def do_GET(self):
            fields = {name.lower(): value for name, value in self.headers.items()}
            with spans.start_as_current_span("app", context=propagate.extract(fields), kind=trace.SpanKind.SERVER):
                body = f"{self.path} {fields.get('x-auth-email', '-')}\n".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

    ThreadingHTTPServer(("127.0.0.1", port), App).serve_forever()


class User:
    """A browser, or a native app, whose every request is a span."""

    def __init__(self, spans):
        self.spans, self.session = spans, requests.Session()
        self.session.trust_env = False

    def ask(self, method, url, fields=None, **content):
        with self.spans.start_as_current_span(method, kind=trace.SpanKind.CLIENT):
            fields = dict(fields or {})
            propagate.inject(fields)
            return self.session.request(method, url, headers=fields, allow_redirects=False, timeout=60, **content)

    def open(self, url):
        """Follows to the end, signs in where a page asks, and returns the last URL and its text."""
        answer = self.ask("GET", url, PAGE)
        for _ in range(30):
            if answer.is_redirect:
                url = urljoin(url, answer.headers["Location"])
                if not url.startswith("http"):
                    return url, ""
                answer = self.ask("GET", url, PAGE)
            elif "name=password" in answer.text and (action := re.search(r'action="?([^" >]+)', answer.text)):
                hidden = re.search(r'type=hidden name=(\w+) value="?([^" >]+)', answer.text)
                form = {"username": "ada", "password": "analytical-engine", hidden[1]: hidden[2]}
                origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
                url = urljoin(url, action[1])
                answer = self.ask("POST", url, PAGE | {"Origin": origin, "Sec-Fetch-Site": "same-origin"}, data=form)
            else:
                assert answer.status_code == 200, (url, answer.status_code, answer.text)
                return url, answer.text
        raise AssertionError(f"too many redirects: {url}")


def journey(collector, gateway):
    spans = tracer("client", collector)
    with spans.start_as_current_span("journey") as root:
        browser, app, other = User(spans), User(spans), User(spans)
        assert browser.open(f"{gateway}/page") == (f"{gateway}/page", "/page ada@example.com\n")
        flow = app.ask("GET", f"{gateway}/self-service/login/api?return_session_token_exchange_code=true&return_to={BACK}").json()
        begun = app.ask("POST", f"{gateway}/self-service/login?flow={flow['id']}", json={"method": "oidc", "provider": "company"})
        assert begun.status_code == 422, begun.text
        back, _ = browser.open(begun.json()["redirect_browser_to"])
        assert back.startswith(BACK), back
        codes = {"init_code": flow["session_token_exchange_code"], "return_to_code": parse_qs(urlsplit(back).query)["code"][0]}
        token = app.ask("GET", f"{gateway}/sessions/token-exchange", params=codes).json()["session_token"]
        granted = app.ask("POST", f"{gateway}/oauth/token", data={
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": "native",
            "subject_token": token, "subject_token_type": "urn:sallyport:params:oauth:token-type:session_token",
            "requested_token_type": "urn:auth0:params:oauth:token-type:session_transfer_token",
            "audience": f"urn:{urlsplit(gateway).netloc}:session_transfer",
        })
        assert granted.status_code == 200, granted.text
        handed = other.open(f"{gateway}/handed?session_transfer_token={granted.json()['access_token']}")
        assert handed == (f"{gateway}/handed", "/handed ada@example.com\n"), handed
        print(format(root.get_span_context().trace_id, "032x"))


if sys.argv[1] == "client":
    journey(*sys.argv[2:])
else:
    serve(int(sys.argv[1]), sys.argv[2])
