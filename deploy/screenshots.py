#!/usr/bin/env python3
"""Makes pictures of the gateway's pages with headless Chromium, and checks that everybody can use them:

    deploy/screenshots.py [--binary PATH] [--pages FILE] [--language TAG] [--demo] [--guides] FOLDER

Each state of each page is shown on a phone and a desktop, light and dark, in forced colours, and from right to left.
The files sheet-*.png show all states side by side. FILE has settings with `pages`, to look at your own colours and
templates. --demo shows the pages of `sallyport demo` instead. --guides also makes the pictures of the guides. The exit
status is 1 if a page fails a check, which is printed. Chromium is Debian's package, and reaches this machine only.
"""

import argparse
import base64
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SIZES = {"phone": (360, 740), "desktop": (1280, 800)}
# Of each picture: its size, colours and direction.
VIEWS = {
    "phone-light": ("phone", "light", "ltr"),
    "desktop-light": ("desktop", "light", "ltr"),
    "phone-dark": ("phone", "dark", "ltr"),
    "desktop-dark": ("desktop", "dark", "ltr"),
    "phone-forced": ("phone", "forced", "ltr"),
    "phone-rtl": ("phone", "light", "rtl"),
}
NARROWEST = 320  # WCAG 2.2, 1.4.10
# The pictures of the guides: pages on a phone, side by side.
GUIDES = {
    "pages": ["login-refused", "forbidden", "app-down"],
    "choices": ["choice-two", "choice-links", "choice-address"],
    "sessions": ["sessions", "sign-out"],
    "confirmation": ["confirm"],
}
PASSWORD = "analytical-engine"
# What users can choose on other hosts, by the first label of their names: one whose mark the gateway has, one whose
# label is long, one that does not answer.
BRANDS = ["google", "apple", "github", "microsoft", "gitlab", "okta", "keycloak"]
CHOICES = {
    "two": ["people", "google"],
    "five": ["google", "microsoft", "company", "away", "people"],
    "nine": BRANDS + ["company", "people"],
    "links": ["google", "github"],
}
COMPANY = "Rindfleischetikettierungsüberwachungsgesellschaft and Partners, staff and contractors"

# What is wrong with the page, as a list of texts.
CHECKS = r"""
(() => {
  const wrong = [];
  const shown = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true});
  const name = element => element.outerHTML.slice(0, 100);
  if (!document.documentElement.lang) wrong.push('the document has no language');
  if (!document.title.trim()) wrong.push('the document has no title');
  if (document.querySelectorAll('h1').length !== 1) wrong.push('not exactly one h1');
  if (!document.querySelector('main')) wrong.push('no main');
  for (const input of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
    if (shown(input) && !input.labels.length && !input.ariaLabel) wrong.push('no label: ' + name(input));
  for (const element of document.querySelectorAll('a, button')) {
    if (!(element.ariaLabel || element.innerText).trim()) wrong.push('no name: ' + name(element));
  }
  for (const element of document.querySelectorAll('[hidden]')) {
    if (shown(element)) wrong.push('shown although it is hidden: ' + name(element));
  }
  for (const image of document.images) if (!image.hasAttribute('alt')) wrong.push('no alt: ' + name(image));
  for (const element of document.querySelectorAll('input:not([type=hidden]), button')) {
    const {height} = (element.closest('label') ?? element).getBoundingClientRect();
    if (shown(element) && height < 24) wrong.push(`only ${height} pixels high: ` + name(element));
  }

  const channels = colour => {
    const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    return {rgb: [red, green, blue], alpha};
  };
  const background = element => {
    for (let at = element; at; at = at.parentElement) {
      const {rgb, alpha} = channels(getComputedStyle(at).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  };
  const luminance = rgb => rgb.map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !shown(element) || element.closest('script, style')) continue;
    const ratio = contrast(channels(getComputedStyle(element).color).rgb, background(element));
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ` + name(element));
  }
  for (const input of document.querySelectorAll('input:not([type=hidden])')) {
    const ratio = contrast(channels(getComputedStyle(input).borderTopColor).rgb, background(input.parentElement));
    if (input.type !== 'checkbox' && ratio < 3) wrong.push(`contrast of the border ${ratio.toFixed(2)}: ` + name(input));
  }
  return wrong;
})()
"""

# Replaces the gateway's host, whose port differs each time, by a name as in the guides.
NAMED = r"""
(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    text.data = text.data.replace(/(\w+\.)?localhost:\d+/g, 'shop.example.com').replaceAll('127.0.0.1', '203.0.113.7');
  }
})()
"""

# What the tabulator key reaches, if it is shown.
FOCUSABLE = "a[href], button, summary, input:not([type=hidden])"
# The element with the focus, by its position, and what is wrong with it; null: none has it.
FOCUS = r"""
(() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const {outlineStyle, outlineWidth} = getComputedStyle(element);
  const visible = outlineStyle !== 'none' && parseFloat(outlineWidth) > 0;
  const wrong = visible ? [] : ['the focus is not visible: ' + element.outerHTML.slice(0, 100)];
  return {position: [...document.querySelectorAll('*')].indexOf(element), wrong};
})()
"""


class Browser:
    """Chromium without a window, by the DevTools protocol over pipes: one JSON object after another, each ended by NUL."""

    def __init__(self, folder: str):
        commands, self.commands = os.pipe()
        self.messages, messages = os.pipe()
        flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars"
        flags += " --disable-background-networking --disable-component-update --no-proxy-server"
        rules = "--host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost'"
        shell = f'exec chromium {flags} {rules} --remote-debugging-pipe --user-data-dir="$0" 3<&{commands} 4>&{messages}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, folder],
            pass_fds=(commands, messages),
            env=os.environ | {"HOME": folder},
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(messages)
        self.received, self.last, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.received:
                self.received += os.read(self.messages, 65_536) or sys.exit("the browser has gone")
            text, self.received = self.received.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.last:
                return answer.get("result", {})

    def value(self, expression: str):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, userGesture=True)
        return answer.get("result", {}).get("value")

    def wait(self, expression: str):
        for _ in range(200):
            if self.value(f"document.readyState === 'complete' && !!({expression})"):
                return
            time.sleep(0.05)
        sys.exit(f"not so: {expression}, at {self.value('location.href + document.body.innerText')}")

    def visit(self, url: str, expression: str = "document.body.childElementCount"):
        self.call("Page.navigate", url=url)
        self.wait(expression)

    def show(self, width: int, height: int, scheme: str, mobile: bool = False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = {
            "prefers-color-scheme": "dark" if scheme != "light" else "light",
            "forced-colors": "active" if scheme == "forced" else "none",
        }
        self.call("Emulation.setEmulatedMedia", features=[{"name": n, "value": v} for n, v in features.items()])
        self.wait(f"innerWidth === {width}")

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def view(self, name: str):
        size, scheme, direction = VIEWS[name]
        self.show(*SIZES[size], scheme, mobile=size == "phone")
        self.value(f"document.documentElement.dir = '{direction}'")

    def sheet(self, name: str, pictures: dict[str, bytes]) -> bytes:
        """All pictures side by side, each below its name."""
        size, scheme, _ = VIEWS[name]
        columns, width = (4, 360) if size == "phone" else (3, 640)
        figures = "".join(
            f'<figure><figcaption>{page}</figcaption><img src="data:image/png;base64,{base64.b64encode(png).decode()}">'
            "</figure>"
            for page, png in pictures.items()
        )
        style = (
            f"body{{margin:0;padding:16px;background:#888;font:20px sans-serif;display:grid;gap:16px;"
            f"grid-template-columns:repeat({columns},{width}px);align-items:start}}"
            f"figure{{margin:0}}img{{display:block;width:{width}px}}"
        )
        with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
            file.write(f"<!doctype html><style>{style}</style>{figures}")
            file.flush()
            self.visit(f"file://{file.name}", "[...document.images].every(image => image.complete)")
            self.show((width + 16) * columns + 16, 600, "light")
            return self.picture()

    def row(self, pages: list[bytes]) -> bytes:
        """Pages side by side, as a guide shows them."""
        urls = (f"data:image/png;base64,{base64.b64encode(png).decode()}" for png in pages)
        images = "".join(f'<div style="background-image:url({url})"></div>' for url in urls)
        style = (
            "body{margin:0;padding:20px;background:#f3f4f8;display:flex;gap:20px}"
            "div{width:360px;height:800px;border:1px solid #d5d8e0;border-radius:12px;background-size:360px auto}"
        )
        with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
            file.write(f"<!doctype html><style>{style}</style>{images}")
            file.flush()
            self.visit(f"file://{file.name}")
            self.show(len(pages) * 382 + 20, 842, "light")
            return self.picture()

    def focus_wrong(self):
        """Goes around the page with the tabulator key, and through the browser's own part between end and start."""
        all_of_them = f"[...document.querySelectorAll('{FOCUSABLE}')]"
        expected = self.value(f"{all_of_them}.filter(element => element.checkVisibility()).length")
        seen = {}
        for _ in range(2 * expected + 4):
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            if focus := self.value(FOCUS):
                seen[focus["position"]] = focus["wrong"]
        missing = [] if len(seen) == expected else [f"the keyboard reaches {len(seen)} of {expected} elements"]
        return sum(seen.values(), missing)


class Gateway:
    """A gateway with a user and no app, whose own pages are all there is to see. Its providers are never called."""

    def provider(self, name: str) -> str:
        if name == "away":
            return "{name: away, oidc: {issuer: 'http://127.0.0.1:9', client_id: gateway, domains: [example.com]}}"
        urls = ", ".join(f"{key}_url: 'http://127.0.0.1:9/{name}'" for key in ("authorization", "token", "userinfo"))
        label = f"label: '{COMPANY}', " if name == "company" else ""
        return f"{{name: {name}, {label}oauth2: {{name: {name}, {urls}, client_id: gateway, claims: {{subject: id}}}}}}"

    def host(self, name: str, choices: list[str], more: str = "") -> str:
        origin = self.origin.replace("//", f"//{name}.")
        return f"{{public_url: '{origin}', endpoints: true, providers: {choices}, routes: [{{path: /**}}]{more}}}"

    def __init__(self, binary: str, pages: pathlib.Path | None):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self.origin = f"http://localhost:{port}"
        password = subprocess.run([binary, "hash-password"], input=PASSWORD, capture_output=True, text=True, check=True)
        hosts = [self.host(name, choices) for name, choices in CHOICES.items()]
        hosts.append(self.host("address", ["people", "away"], ", sign_in: identifier_first"))
        names, separator = BRANDS + ["company", "away"], "\n  - "
        # Beside the operator's file, because the paths in it are relative.
        self.file = tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=pages.parent if pages else None)
        self.file.write(
            f"""
listen: 127.0.0.1:{port}
admin: {{listen: "127.0.0.1:0"}}
upstream: http://127.0.0.1:9
session: {{persistent: ask}}
drain: {{delay: 0s, timeout: 1s}}
log: {{level: error, access: false, audit: false}}
hosts:
  - public_url: {self.origin}
    endpoints: true
    provider: people
    routes:
      - {{path: /**, client: web}}
      - {{path: /board/**, require: {{groups_any: [board]}}}}
      - {{path: /app/**, require: {{origin: [native]}}}}
  - {separator.join(hosts)}
providers:
  - {{name: people, static: {{users: [{{identifier: ada, password_hash: "{password.stdout.strip()}"}}]}}}}
  - {separator.join(map(self.provider, names))}
clients:
  - {{client_id: app, session_transfer: {{can_create_session_transfer_token: true}}}}
  - {{client_id: web, session_transfer: {{allowed_authentication_methods: [query]}}}}
"""
        )
        if pages:
            section = re.search(r"(?ms)^pages:.*?(?=^\S|\Z)", pages.read_text())
            self.file.write(section[0] if section else sys.exit(f"{pages} has no section pages"))
        self.file.flush()
        self.process = subprocess.Popen([binary, "run", "--config", self.file.name])
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the gateway does not start")

    def post(self, path: str, fields: dict) -> dict:
        body = json.dumps(fields).encode()
        fields = {"Content-Type": "application/json", "User-Agent": "Shop/2.1 (iPhone; iOS 18.5)"}
        with urllib.request.urlopen(urllib.request.Request(self.origin + path, body, fields)) as answer:
            return json.load(answer)

    def fail_to_sign_in(self) -> int:
        body = urllib.parse.urlencode({"identifier": "grace", "password": "wrong"}).encode()
        request = urllib.request.Request(f"{self.origin}/.sallyport/login", body, {"Origin": self.origin})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as refusal:
            refusal.close()
            return refusal.code

    def transfer_token(self) -> str:
        """As a native app gets it."""
        with urllib.request.urlopen(self.origin + "/self-service/login/api") as answer:
            flow = json.load(answer)["id"]
        password = {"method": "password", "identifier": "ada", "password": PASSWORD}
        session = self.post(f"/self-service/login?flow={flow}", password)["session_token"]
        exchange = {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "client_id": "app",
            "subject_token": session,
            "subject_token_type": "urn:sallyport:params:oauth:token-type:session_token",
            "audience": "urn:localhost:session_transfer",
        }
        return self.post("/oauth/token", exchange)["access_token"]


class Demo:
    """`sallyport demo`."""

    def __init__(self, binary: str):
        self.process = subprocess.Popen([binary, "demo", "--port", "0"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if found := re.match(r"Open (http://\S+)/ ", line):
                self.origin = found[1]
                return
        sys.exit("the demo does not start")


def walk_demo(demo: Demo, browser: Browser):
    """Leads the browser through the demo; yields the name of each page."""

    def sign_in():
        browser.wait("document.querySelector('#password')")
        browser.value(
            "document.querySelector('#identifier').value = 'ada@example.com';"
            f"document.querySelector('#password').value = '{PASSWORD}';"
            "document.querySelector('form').requestSubmit()"
        )

    browser.visit(f"{demo.origin}/.sallyport/login")
    yield "demo-login"
    browser.visit(f"{demo.origin}/public/")
    yield "demo-public"
    browser.value("document.querySelector('form').requestSubmit()")
    browser.wait("location.pathname === '/hello'")
    yield "demo-transfer"
    browser.visit(f"{demo.origin}/public/native-app/sign-in")
    browser.wait("location.pathname === '/public/native-app/signed-in'")
    yield "demo-native"
    browser.call("Network.clearBrowserCookies")
    browser.visit(f"{demo.origin}/hello")
    sign_in()
    browser.wait("location.pathname === '/hello'")
    yield "demo-hello"
    browser.value("document.querySelector('details').open = true")
    yield "demo-unfolded"
    browser.visit(f"{demo.origin}/board/")
    yield "demo-forbidden"
    browser.visit(f"{demo.origin}/down/")
    yield "demo-down"


def walk(gateway: Gateway, browser: Browser):
    """Leads the browser from state to state; yields the name of each."""
    own = f"{gateway.origin}/.sallyport"
    form = "document.querySelector('form')"

    def sign_in():
        browser.value(f"identifier.value = 'ada'; password.value = '{PASSWORD}'; {form}.requestSubmit()")

    def set_cookie(name: str, value: str, origin: str = gateway.origin):
        browser.call("Network.setCookie", name=name, value=value, url=origin)

    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.visit(f"{own}/login")
    yield "login-without-script"
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.visit(f"{own}/login")
    yield "login"
    browser.value(f"identifier.value = 'ada'; password.value = 'wrong'; {form}.requestSubmit()")
    browser.wait("document.querySelector('.notice')")
    yield "login-refused"
    # What the gateway sets when it sends a browser whose session was not used to the sign-in page.
    set_cookie("sallyport-notice", "idle")
    browser.visit(f"{own}/login?return_to=/orders")
    browser.wait("document.querySelector('.calm')")
    yield "login-ended"
    for name in CHOICES | {"address": []}:
        other = gateway.origin.replace("//", f"//{name}.")
        if name == "nine":
            # What the browser keeps of its last sign-in.
            set_cookie("sallyport-way", "gitlab", other)
        browser.visit(f"{other}/.sallyport/login", "document.querySelector('.provider, #identifier')")
        yield f"choice-{name}"
    browser.value(f"identifier.value = 'ada@example.org'; {form}.requestSubmit()")
    browser.wait("document.querySelector('#password')")
    yield "choice-password"
    # A form of the app whose session has ended meanwhile.
    browser.visit(f"{own}/login")
    browser.value(f"{form}.action = '/orders'; {form}.noValidate = true; {form}.requestSubmit()")
    browser.wait("document.querySelector('.facts')")
    yield "form-lost"
    link = f"{gateway.origin}/a?session_transfer_token={gateway.transfer_token()}"
    browser.visit("data:text/html," + urllib.parse.quote(f"<h1><a href='{link}'>link</a></h1>"))
    browser.value("document.querySelector('a').click()")
    browser.wait("location.pathname === '/.sallyport/handoff'")
    yield "confirm"
    # A session of another device, for the list.
    browser.visit(f"{own}/login")
    sign_in()
    browser.wait("!document.querySelector('#password')")
    browser.call("Network.clearBrowserCookies")
    browser.visit(f"{own}/login")
    sign_in()
    browser.wait("!document.querySelector('#password')")
    yield "app-down"
    browser.visit(f"{own}/login?return_to=/orders")
    browser.wait("document.querySelector('.way')")
    yield "login-signed-in"
    browser.visit(f"{gateway.origin}/board/")
    yield "forbidden"
    browser.visit(f"{gateway.origin}/app/")
    yield "apps-only"
    browser.visit(f"{own}/nothing")
    yield "not-found"
    time.sleep(0.2)
    browser.visit(f"{own}/sessions")
    yield "sessions"
    browser.visit(f"{own}/logout")
    yield "sign-out"
    browser.value(f"{form}.requestSubmit()")
    browser.wait("document.querySelector('#password')")
    browser.visit(f"{own}/signed-out")
    yield "signed-out"
    # At the end, because nobody can sign in from here for a while.
    browser.call("Network.clearBrowserCookies")
    browser.visit(f"{own}/login")
    for _ in range(60):
        if gateway.fail_to_sign_in() == 429:
            break
    browser.value(f"identifier.value = 'grace'; password.value = 'wrong'; {form}.requestSubmit()")
    browser.wait("document.querySelector('.notice')")
    yield "login-throttled"


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(root / ".build/release/sallyport"))
    parser.add_argument("--pages", type=pathlib.Path)
    parser.add_argument("--language", default="en")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--guides", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    pictures: dict[str, dict[str, bytes]] = {view: {} for view in VIEWS}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        gateway = Demo(arguments.binary) if arguments.demo else Gateway(arguments.binary, arguments.pages)
        browser = Browser(profile)
        try:
            browser.call("Network.enable")
            browser.call("Network.setExtraHTTPHeaders", headers={"Accept-Language": arguments.language})
            for page in (walk_demo if arguments.demo else walk)(gateway, browser):
                wrong = []
                direction = browser.value("document.documentElement.dir")
                # The demo's app is written in one language.
                if direction not in ("ltr", "rtl") and not arguments.demo:
                    wrong.append("the document has no direction")
                if arguments.guides:
                    browser.value(NAMED)
                for view in VIEWS:
                    browser.view(view)
                    pictures[view][page] = browser.picture()
                    (arguments.folder / f"{page}-{view}.png").write_bytes(pictures[view][page])
                    wrong += [] if view.endswith("forced") else browser.value(CHECKS)
                # After the pictures, because the focus stays where it was.
                for view in ("desktop-light", "desktop-dark"):
                    browser.view(view)
                    wrong += browser.focus_wrong()
                browser.value(f"document.documentElement.dir = '{direction}'")
                browser.show(NARROWEST, 640, "light")
                if browser.value("document.documentElement.scrollWidth") > NARROWEST:
                    wrong.append(f"wider than {NARROWEST} pixels")
                for text in dict.fromkeys(wrong):
                    print(f"{page}: {text}")
                failures += len(wrong)
            for view, shown in pictures.items():
                (arguments.folder / f"sheet-{view}.png").write_bytes(browser.sheet(view, shown))
            for name, pages in GUIDES.items() if arguments.guides else ():
                row = browser.row([pictures["phone-light"][page] for page in pages])
                (arguments.folder / f"guide-{name}.png").write_bytes(row)
        finally:
            browser.call("Browser.close")
            browser.process.wait()
            gateway.process.terminate()
            gateway.process.wait()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
