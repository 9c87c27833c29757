"""What is around a native app: a gateway, the system's browser, a WebView, and the phone that ties them to the app."""

import html
import http.client
import json
import os
import queue
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PASSWORD = "analytical-engine"
CALLBACK = "com.example.app:/callback"
RETURN_TO = "com.example.app:/signed-in"
# One that no other app can claim.
HTTPS = "https://app.example.com/callback"
SCOPE = "openid offline_access orders:read sessions"
PATIENCE = 30


def fail(text: str):
    raise AssertionError(text)


def wait(condition, what: str):
    """The first true value of `condition`."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    fail(f"not in time: {what}")


class App(BaseHTTPRequestHandler):
    """The web app behind the gateway: it says who came."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        user, origin = self.headers["X-Auth-Subject"], self.headers["X-Auth-Origin"]
        seen = {"user": user, "origin": origin, "path": self.path, "cookies": self.headers["Cookie"]}
        body = f"<!doctype html><title>app</title><pre>{json.dumps(seen)}</pre>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Gateway:
    """The gateway with TLS of its own on a free port of this machine, in front of `App`."""

    def __init__(self, binary: str, folder: str):
        self.folder = folder
        self.app = ThreadingHTTPServer(("127.0.0.1", 0), App)
        threading.Thread(target=self.app.serve_forever, daemon=True).start()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.origin = f"https://localhost:{self.port}"
        run = lambda *words, **more: subprocess.run([binary, *words], cwd=folder, check=True, capture_output=True, **more)
        run("keys", "make", "secret")
        run("certificate", "--self-signed")
        self.certificate = os.path.join(folder, "certificate.pem")
        hash = run("hash-password", input=PASSWORD.encode()).stdout.decode().strip()
        with open(os.path.join(folder, "sallyport.yaml"), "w") as file:
            file.write(f"""
public_url: {self.origin}
upstream: http://127.0.0.1:{self.app.server_port}
secret_file: secret
listen: [{{address: "127.0.0.1:{self.port}"}}]
tls: {{certificates: [{{certificate_file: certificate.pem, key_file: key.pem}}]}}
provider: {{static: {{users: [{{identifier: ada, password_hash: "{hash}"}}]}}}}
routes:
  - {{path: /**, client: web}}
  - {{path: /api/**, name: api}}
exchange: {{return_to: ["{RETURN_TO}"]}}
clients:
  - client_id: app
    callbacks: ["{CALLBACK}", "{HTTPS}"]
    allowed_logout_urls: ["{CALLBACK}"]
    manage_sessions: true
    session_transfer: {{can_create_session_transfer_token: true}}
  - client_id: web
    session_transfer: {{allowed_authentication_methods: [cookie, query], enforce_device_binding: ip}}
apis: [{{audience: "https://api.example.com", scopes: ["orders:read"], routes: [api]}}]
""")
        self.log = open(os.path.join(folder, "gateway.log"), "wb")
        words = [binary, "run", "--config", "sallyport.yaml"]
        self.process = subprocess.Popen(words, cwd=folder, stdout=self.log, stderr=self.log)
        self.trust = ssl.create_default_context(cafile=self.certificate)
        wait(self.answers, "the gateway answers")

    def answers(self) -> bool:
        if self.process.poll() is not None:
            fail(open(self.log.name).read())
        try:
            return self.request("GET", "/.sallyport/jwks.json").status == 200
        except OSError:
            return False

    def request(self, method: str, path: str, fields={}, body=None):
        """One answer, with its `text`."""
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE, context=self.trust)
        connection.request(method, path, body, fields)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def form(self, path: str, **fields):
        body = urllib.parse.urlencode(fields)
        return self.request("POST", path, {"Content-Type": "application/x-www-form-urlencoded"}, body)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def rename_user(self, name: str):
        """Another user takes the place of the one in the settings, whose account is gone."""
        path = os.path.join(self.folder, "sallyport.yaml")
        text = open(path).read()
        with open(path, "w") as file:
            file.write(text.replace("identifier: ada", f"identifier: {name}"))
        self.process.send_signal(signal.SIGHUP)
        wait(lambda: "configuration reloaded" in open(self.log.name).read(), "the reload")

    def stop(self):
        self.resume()
        self.process.terminate()
        self.process.wait()
        self.app.shutdown()
        self.log.close()


class SystemBrowser:
    """The browser in which users sign in. It keeps its cookies to itself."""

    def __init__(self, gateway: Gateway):
        self.gateway, self.cookies = gateway, {}

    def open(self, page: str) -> str:
        """Where the pages lead in the end: a URL of the app. Where a form asks for the password, the user signs in."""
        page = page.removeprefix(self.gateway.origin)
        answer = self.send("GET", page)
        for _ in range(10):
            if answer.status == 200:
                action = re.search(r'<form[^>]* action="([^"]*)"', answer.text) or fail(f"no form: {answer.text}")
                hidden = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', answer.text)
                values = {name: html.unescape(value) for name, value in hidden}
                form = {"identifier": "ada", "password": PASSWORD, **values}
                answer = self.send("POST", urllib.parse.urljoin(page, html.unescape(action[1])), urllib.parse.urlencode(form))
                continue
            if answer.status not in (302, 303):
                fail(f"{answer.status}: {answer.text}")
            location = urllib.parse.urljoin(self.gateway.origin + page, answer.headers["Location"])
            if not location.startswith(self.gateway.origin + "/"):
                return location
            page = location.removeprefix(self.gateway.origin)
            answer = self.send("GET", page)
        fail(f"goes round: {page}")

    def send(self, method: str, path: str, body=None):
        fields = {
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin" if body else "none",
            "Accept": "text/html",
        }
        if body:
            fields |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.gateway.origin}
        answer = self.gateway.request(method, path, fields, body)
        for field in answer.headers.get_all("Set-Cookie") or []:
            name, value = field.split(";")[0].split("=", 1)
            self.cookies[name] = value
        return answer


class WebView:
    """Chromium without a window in the role of a WebView: an empty jar, and what the app gives it."""

    def __init__(self, folder: str, certificate: str):
        commands, self.commands = os.pipe()
        self.messages, messages = os.pipe()
        flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --ignore-certificate-errors"
        shell = f'exec chromium {flags} --remote-debugging-pipe --user-data-dir="$0" 3<&{commands} 4>&{messages}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, folder], pass_fds=(commands, messages), env=os.environ | {"HOME": folder},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(messages)
        self.lock, self.last, self.session, self.answers = threading.Lock(), 0, None, {}
        self.headers, self.loaded, self.said = {}, [], lambda message: None
        # Whether the app lets the view follow a redirect.
        self.may_follow = lambda url: True
        self.paused = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.go_on, daemon=True).start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call("Runtime.addBinding", name="bridge")
        self.call("Fetch.enable")

    def read(self):
        received = b""
        while part := os.read(self.messages, 65_536):
            *texts, received = (received + part).split(b"\0")
            for text in texts:
                message = json.loads(text)
                if "id" in message:
                    self.answers.pop(message["id"]).put(message)
                elif message["method"] == "Fetch.requestPaused":
                    self.paused.put(message["params"])
                elif message["method"] == "Runtime.bindingCalled":
                    self.said(json.loads(message["params"]["payload"]))

    def begin(self, method: str, **parameters) -> queue.Queue:
        with self.lock:
            self.last += 1
            answer = self.answers[self.last] = queue.Queue()
            message = {"id": self.last, "method": method, "params": parameters}
            if self.session:
                message["sessionId"] = self.session
            os.write(self.commands, json.dumps(message).encode() + b"\0")
        return answer

    def call(self, method: str, **parameters):
        try:
            answer = self.begin(method, **parameters).get(timeout=PATIENCE)
        except queue.Empty:
            fail(f"no answer to {method}")
        return answer.get("result") if "result" in answer else fail(f"{method}: {answer['error']}")

    def go_on(self):
        """The app's header fields come with the first request of a page, and with none that follows."""
        while True:
            paused = self.paused.get()
            request, more = paused["request"], {}
            if fields := self.headers.pop(request["url"], None):
                all_fields = request["headers"] | fields
                more["headers"] = [{"name": name, "value": value} for name, value in all_fields.items()]
            try:
                if "redirectedRequestId" in paused and not self.may_follow(request["url"]):
                    self.call("Fetch.failRequest", requestId=paused["requestId"], errorReason="Aborted")
                    continue
                self.call("Fetch.continueRequest", requestId=paused["requestId"], **more)
            except AssertionError:
                pass  # The page has gone on to another one.

    def load(self, url: str, headers={}):
        self.headers[url] = headers
        self.loaded.append(url)
        self.visit(url)

    def visit(self, url: str):
        """Its answer comes when the page does, and meanwhile the app may be asked."""
        self.begin("Page.navigate", url=url)

    def set_cookie(self, url: str, field: str):
        """Whether Chromium keeps the cookie of a Set-Cookie field."""
        pair, *attributes = [part.strip() for part in field.split(";")]
        name, value = pair.split("=", 1)
        cookie = {"url": url, "name": name, "value": value}
        for attribute in attributes:
            key, _, text = attribute.partition("=")
            key = {"httponly": "httpOnly"}.get(key.lower(), key.lower())
            cookie[key] = text if text else True
        return self.call("Network.setCookie", **cookie)["success"]

    def before_each_page(self, script: str):
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def value(self, expression: str):
        try:
            return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")
        except AssertionError:
            return None  # Between two pages.

    def shows(self, path: str):
        """What the web app has seen, once its page is there."""
        script = "document.readyState === 'complete' && document.querySelector('pre')?.innerText"

        def page():
            seen = json.loads(self.value(script) or "null")
            return seen if seen and seen["path"] == path and self.value("location.pathname + location.search") == path else None

        try:
            return wait(page, f"the page {path}")
        except AssertionError as error:
            fail(f"{error}; at {self.value('location.href')}: {self.value('document.body.innerText')}")

    def cookies(self) -> dict:
        return {cookie["name"]: cookie for cookie in self.call("Network.getAllCookies")["cookies"]}

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Phone:
    """Runs the app, whose system's parts are doubles that say on standard output what they would do, one JSON object a line."""

    def __init__(self, words: list, gateway: Gateway, view: WebView, environment={}, folder=None):
        self.view, self.browser = view, SystemBrowser(gateway)
        # What the browser brings back for the URL to which it is led; None: the user closes it.
        self.comes_back = lambda url: url
        self.browsed, self.answers, self.last, self.events = [], {}, 0, queue.Queue()
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
            env=os.environ
            | {"GATEWAY": gateway.origin, "CALLBACK": CALLBACK, "RETURN_TO": RETURN_TO, "HTTPS": HTTPS, "SCOPE": SCOPE}
            | environment,
        )
        view.said = lambda message: self.send({"event": "message", **message})
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if not line.startswith("{"):
                print(line, end="", file=sys.stderr)
                continue
            message = json.loads(line)
            try:
                self.received(message)
            except Exception as error:
                self.events.put({"fault": f"{message}: {error}"})

    def received(self, message: dict):
        if "id" in message:
            self.answers.pop(message["id"]).put(message)
        elif "browse" in message:
            self.browsed.append(message)
            threading.Thread(target=self.browse, args=(message,), daemon=True).start()
        elif "cookie" in message:
            self.view.set_cookie(message["url"], message["cookie"]) or fail("the WebView refuses the cookie")
        elif "load" in message:
            self.view.load(message["load"], message.get("headers", {}))
        elif "script" in message:
            self.view.before_each_page(message["script"])
        else:
            self.events.put(message)

    def browse(self, message: dict):
        try:
            url = self.comes_back(self.browser.open(message["browse"]))
        except Exception as error:
            self.events.put({"fault": f"{message}: {error}"})
            url = None
        if url is not None and not url.startswith(message["until"]):
            url = None
        self.send({"event": "callback", "url": url})

    def send(self, message: dict):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, name: str, **parameters) -> dict:
        """The answer: `value`, or `error` with the kind of the failure."""
        self.last += 1
        answer = self.answers[self.last] = queue.Queue()
        self.send({"id": self.last, "do": name, **parameters})
        while True:
            try:
                return answer.get(timeout=PATIENCE)
            except queue.Empty:
                fail(f"no answer to {name}: {list(self.events.queue)}, exit status {self.process.poll()}")

    def does(self, name: str, **parameters):
        answer = self.ask(name, **parameters)
        return answer["value"] if "error" not in answer else fail(f"{name}: {answer}")

    def event(self, kind: str):
        """The next thing that the app shows or says."""
        try:
            event = self.events.get(timeout=PATIENCE)
        except queue.Empty:
            fail(f"no {kind}")
        return event[kind] if kind in event else fail(f"{event} in place of {kind}")

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
