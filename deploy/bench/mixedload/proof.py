"""Shows before the load that what judges answers can find them wrong."""

import contextlib
import dataclasses
import secrets
import sys
import time

from streams import MoreActs
from world import PROMISED, Failed, Session, Wrong


def patiently(step):
    """A busy machine's Redis may be late, which is no answer to judge."""
    for _ in range(30):
        try:
            return step()
        except Failed:
            time.sleep(0.5)
    return step()


def prove(acts: MoreActs):
    """Lets each judge see what is wrong; the run does not begin if one of them does not notice."""
    world, (first, second) = acts.world, acts.rig.gateways
    for sign_in in [acts.native_sign_in, acts.form_sign_in] * 3:
        patiently(sign_in)
    native, browser = world.natives[0], world.browsers[0]

    def visit(session: Session):
        with acts.client(session.source) as client:
            acts.visit("proof", client, first, session)

    def visit_of_another():
        visit(dataclasses.replace(native, user="local-999"))

    def visit_after_the_end():
        visit(dataclasses.replace(browser, ended=time.monotonic() - PROMISED - 1))

    def visit_refused():
        visit(dataclasses.replace(browser, token=browser.token[:-4] + "aaaa"))

    def ended():
        world.ended.append(dataclasses.replace(native, ended=time.monotonic() - PROMISED - 1, ended_at=second.name))
        try:
            acts.ended()
        finally:
            world.ended.clear()

    def accepted_twice():
        with acts.client(native.source) as client:
            token = acts.mint("proof", client, first, native)
        world.accepted[token] = 1
        with acts.client(native.source) as browser:
            acts.present("proof", browser, second, token)

    def public_with_a_user():
        with acts.client(native.source) as client:
            answer = acts.ask("proof", client, first, "GET", "/page", native.fields() | {"X-Nonce": "n"})
            acts.told(answer, None, "n", first)

    def another_answer():
        with acts.client(native.source) as client:
            answer = acts.ask("proof", client, first, "GET", "/page", native.fields() | {"X-Nonce": "n"})
            acts.told(answer, native, secrets.token_hex(2), first)

    for judge in [
        visit_of_another,
        visit_after_the_end,
        visit_refused,
        ended,
        accepted_twice,
        public_with_a_user,
        another_answer,
    ]:
        try:
            patiently(judge)
        except Wrong:
            continue
        sys.exit(f"{judge.__name__}: what is wrong is not noticed")
    # A copy of the browser's session that was judged is no session of its own.
    with contextlib.suppress(Wrong, Failed):
        visit(browser)
