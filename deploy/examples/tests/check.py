#!/usr/bin/env python3
"""Runs the native apps of deploy/examples against a real gateway, with Chromium in the role of their WebViews:

    deploy/examples/tests/check.py --binary PATH [react-native] [android] [ios]

The apps are those of the folder, with doubles of what only a phone has. Exit status 1: a check fails, which is printed.
An app whose tools are missing is skipped: react-native needs node, android the jars of the Kotlin compiler (`--kotlin FOLDER`)
and Java, ios swift. All need Chromium.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
import apps
from device import HTTPS, SCOPE, Gateway, Phone, WebView, fail, wait


def equal(found, expected, what: str):
    if found != expected:
        fail(f"{what}: {found!r} in place of {expected!r}")


def is_signed_in(gateway, path: str, cookie="") -> bool:
    fields = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none", "Cookie": cookie}
    answer = gateway.request("GET", path, fields)
    kept = [field for field in answer.headers.get_all("Set-Cookie") or [] if field.startswith("__Host-sallyport=")]
    return answer.status == 303 and any(not field.startswith("__Host-sallyport=;") for field in kept)


def signs_in(phone, gateway):
    """With PKCE and a state, at `/authorize`."""
    equal(phone.does("state"), "signedOut", "the first state")
    equal(phone.ask("transferToken")["error"], "signedOut", "a token before the sign-in")
    phone.comes_back = lambda url: None
    equal(phone.ask("signIn")["error"], "cancelled", "a closed browser")
    phone.comes_back = lambda url: url.replace("state=", "state=x")
    equal(phone.ask("signIn")["error"], "refused", "an answer to another request")
    equal(phone.does("state"), "signedOut", "the state after that")
    phone.comes_back = lambda url: url
    phone.does("signIn")
    equal(phone.does("state"), "signedIn", "the state after the sign-in")
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(phone.browsed[-1]["browse"]).query))
    equal(asked["code_challenge_method"], "S256", "PKCE")
    equal(asked["scope"], SCOPE, "the scopes")
    equal((len(asked["code_challenge"]), len(asked["state"]) >= 10), (43, True), "the challenge and the state")


def refreshes_once(phone, gateway):
    """All that need a token wait for one refresh, and the API takes it."""
    before = phone.does("stored")
    phone.does("restart")
    tokens = phone.does("accessTokens", count=8)
    equal((len(tokens), len(set(tokens))), (8, 1), "access tokens of 8 parallel calls")
    after = phone.does("stored")
    if before == after:
        fail("the refresh token has not changed")
    status, text = phone.does("fetch", path="/api/orders")
    if status != 200 or '"user": "ada"' not in text:
        fail(f"the API says {status}: {text}")
    # A second app with the former token, after its successor was used, would end the family. This one goes on.
    tokens = phone.does("transferTokens", count=6)
    equal(len(set(tokens)), 6, "transfer tokens of 6 parallel calls")
    for token in tokens[:2]:
        equal(is_signed_in(gateway, f"/once?session_transfer_token={token}"), True, "the first use of a token")
        equal(is_signed_in(gateway, f"/once?session_transfer_token={token}"), False, "the second use of a token")


def ends_other_sessions(phone, gateway):
    """One of them, and then all. The app stays signed in."""
    others = phone.does("otherSessions")
    # The system's browser, and the pages that the first two transfer tokens opened.
    equal(len(others), 3, "the number of other sessions")
    phone.does("endSession", session=others[0])
    left = [session["id"] for session in phone.does("otherSessions")]
    equal(left, [session["id"] for session in others[1:]], "the other sessions after the end of one")
    phone.does("endOtherSessions")
    equal((phone.does("otherSessions"), phone.does("state")), ([], "signedIn"), "the other sessions, and the app's")
    equal(phone.does("fetch", path="/api/orders")[0], 200, "the API's status after that")


def lists_sessions(phone, view):
    """On the gateway's page, which a transfer token opens. It marks the app and the page as one sign-in."""
    phone.does("open", target="/.sallyport/sessions")
    script = "location.pathname + document.querySelectorAll('.here').length"
    wait(lambda: view.value(script) == "/.sallyport/sessions2", "the page of the user's sessions")
    equal(view.value("location.search"), "", "the query of the page")


def hands_off(phone, view, path: str):
    """Into a WebView, whose session is the user's."""
    count = len(view.loaded)
    phone.does("open", target=path)
    seen = view.shows(path)
    equal((seen["user"], seen["origin"], seen["cookies"]), ("ada", "transfer", None), "what the web app sees")
    equal(len(view.loaded), count + 1, "the number of pages that the app has loaded")
    cookies = view.cookies()
    equal(cookies.get("__Host-sallyport", {}).get("httpOnly"), True, "the session's cookie is out of reach of scripts")
    equal(cookies.get("__Host-sallyport-native", {}).get("value"), "1", "the WebView's announcement")
    if token := cookies.get("session_transfer_token"):
        fail(f"the token stayed: {token}")


def goes_on(phone, view, origin: str):
    """When the web session ends, by the bridge and without a sign-in page."""
    view.call("Network.deleteCookies", name="__Host-sallyport", url=origin)
    count = len(view.loaded)
    # The user goes to another page of the web app.
    view.visit(f"{origin}/later?a=%20&b=1")
    seen = view.shows("/later?a=%20&b=1")
    equal((seen["user"], seen["origin"]), ("ada", "transfer"), "who the user is after that")
    equal(len(view.loaded), count + 1, "the number of pages that the app has loaded")


def goes_on_without_a_bridge(phone, view, origin: str):
    """In an old WebView of Android, which only asks the app whether to follow a redirect."""
    phone.does("old")
    view.call("Network.clearBrowserCookies")
    view.may_follow = lambda url: phone.does("navigates", url=url, link=False)
    phone.does("open", target="/old")
    equal(view.shows("/old")["origin"], "transfer", "the handoff")
    view.call("Network.deleteCookies", name="__Host-sallyport", url=origin)
    view.visit(f"{origin}/older?a=%20&b=1")
    equal(view.shows("/older?a=%20&b=1")["user"], "ada", "the user after the web session has ended")
    view.may_follow = lambda url: True


def ignores_strangers(phone, view, origin: str):
    """Messages that are no challenges of this site, or come from another one."""
    count = len(view.loaded)
    challenge = {"type": "session_transfer", "realm": origin, "return_to": "/stolen"}
    for change in ({"realm": "https://evil.example"}, {"return_to": "//evil.example/"}, {"type": "other"}):
        view.value(f"{phone.bridge}.postMessage({json.dumps(json.dumps(challenge | change))})")
    view.value(f"{phone.bridge}.postMessage('no JSON')")
    phone.send({"event": "message", "data": json.dumps(challenge), "url": "https://evil.example/", "mainFrame": True})
    phone.send({"event": "message", "data": json.dumps(challenge), "url": f"{origin}.evil.example/", "mainFrame": True})
    phone.does("state")
    equal(view.loaded[count:], [], "pages that the app has loaded for them")
    equal(phone.does("navigates", url="https://other.example/", link=True), False, "a link to another site stays in the view")
    equal(phone.does("navigates", url=f"{origin}/a", link=True), True, "a link of the web app stays in the view")


def waits_for_the_network(phone, gateway, view):
    """A dead network ends after the time limit, signs nobody out, and the user tries again."""
    gateway.pause()
    before = phone.does("stored")
    phone.does("open", target="/again")
    phone.event("tryAgain")
    equal((phone.does("stored"), phone.does("state")), (before, "signedIn"), "what the app keeps without a network")
    gateway.resume()
    phone.send({"event": "tryAgain"})
    equal(view.shows("/again")["user"], "ada", "the user after a second try")


def is_signed_out_elsewhere(phone, gateway, view, origin: str):
    """Then the web session ends too, and the app shows its own sign-in."""
    gateway.form("/oauth/revoke", client_id="app", token=phone.does("stored")["refreshToken"])
    view.visit(f"{origin}/ended")
    phone.event("signedOut")
    equal((phone.does("state"), phone.does("stored")), ("signedOut", None), "the state after that")


def signs_out(phone, gateway, view, origin: str):
    """Of the app, and of the WebView that it signed in."""
    token = phone.does("stored")["refreshToken"]
    hands_off(phone, view, "/before")
    phone.does("signOut")
    equal((phone.does("state"), phone.does("stored")), ("signedOut", None), "the state after that")
    answer = gateway.form("/oauth/token", grant_type="refresh_token", client_id="app", refresh_token=token)
    equal((answer.status, json.loads(answer.text)["error"]), (400, "invalid_grant"), "the former refresh token")
    # The browser of the sign-in goes its own way.
    phone.does("signOutOfTheBrowser")
    if not phone.browsed[-1]["browse"].startswith(f"{origin}/oidc/logout?"):
        fail(f"another page: {phone.browsed[-1]}")


def exchanges(phone, gateway, view, origin: str):
    """The sign-in by two codes, with a session token."""
    phone.comes_back = lambda url: url.replace("code=", "code=x")
    equal(phone.ask("signInByExchange")["error"], "refused", "a wrong code")
    phone.comes_back = lambda url: url
    phone.does("signInByExchange")
    token = phone.does("stored")["sessionToken"]
    equal(phone.does("accessTokens", count=2), [token, token], "the access token is the session's")
    tokens = phone.does("transferTokens", count=3)
    equal(len(set(tokens)), 3, "transfer tokens of 3 parallel calls")
    hands_off(phone, view, "/exchanged")
    goes_on(phone, view, origin)
    phone.does("signOut")
    equal(phone.does("state"), "signedOut", "the state after the sign-out")
    answer = gateway.request("GET", "/sessions/whoami", {"X-Session-Token": token})
    equal(answer.status, 401, "the former session token")


def is_disabled(phone, gateway, view, origin: str):
    """The account is gone: `invalid_grant` comes with 403. Then the web session ends too, and the app shows its own sign-in."""
    phone.does("signIn")
    hands_off(phone, view, "/enabled")
    token = phone.does("stored")["refreshToken"]
    gateway.rename_user("bob")
    answer = gateway.form("/oauth/token", grant_type="refresh_token", client_id="app", refresh_token=token)
    equal((answer.status, json.loads(answer.text)["error"]), (403, "invalid_grant"), "the refresh token of that account")
    view.visit(f"{origin}/disabled")
    phone.event("signedOut")
    equal((phone.does("state"), phone.does("stored")), ("signedOut", None), "the state after that")


def check(name: str, binary: str, options):
    with tempfile.TemporaryDirectory(prefix="native-app-", ignore_cleanup_errors=True) as folder:
        gateway = Gateway(binary, folder)
        view = WebView(os.path.join(folder, "view"), gateway.certificate)
        try:
            words, environment, bridge = apps.start(name, pathlib.Path(folder), gateway, options)
            phone = Phone(words, gateway, view, environment, folder)
            phone.bridge = bridge
            try:
                origin = gateway.origin
                signs_in(phone, gateway)
                refreshes_once(phone, gateway)
                ends_other_sessions(phone, gateway)
                lists_sessions(phone, view)
                hands_off(phone, view, "/first?a=%20")
                goes_on(phone, view, origin)
                ignores_strangers(phone, view, origin)
                waits_for_the_network(phone, gateway, view)
                is_signed_out_elsewhere(phone, gateway, view, origin)
                phone.does("signInByHTTPS")
                equal(phone.browsed[-1]["until"], HTTPS, "the callback for which the browser waits")
                signs_out(phone, gateway, view, origin)
                exchanges(phone, gateway, view, origin)
                if name == "android":
                    phone.does("signIn")
                    goes_on_without_a_bridge(phone, view, origin)
                    phone.does("signOut")
                is_disabled(phone, gateway, view, origin)
                equal(list(phone.events.queue), [], "what the app has shown besides")
            finally:
                phone.stop()
        finally:
            view.stop()
            gateway.stop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kotlin", help="the folder with the jars of kotlin-jupyter-kernel")
    parser.add_argument("--scratch", help="where Swift builds, to be faster the next time")
    parser.add_argument("apps", nargs="*", default=[])
    options = parser.parse_args()
    wrong = 0
    for name in options.apps or apps.NAMES:
        if missing := apps.missing(name, options):
            print(f"skipped: {name}: {missing} is missing")
            continue
        try:
            check(name, os.path.abspath(options.binary), options)
            print(f"passed: {name}")
        except AssertionError as error:
            print(f"failed: {name}: {error}")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
