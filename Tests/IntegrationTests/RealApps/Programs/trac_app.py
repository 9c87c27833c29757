"""Trac for a WSGI server, with the gateway's user and prefix. The folder's environment is `notes`."""

import os
from urllib.parse import unquote

os.environ["TRAC_ENV"] = os.path.join(os.getcwd(), "notes")
from trac.web.main import dispatch_request


def application(environ, start_response):
    if user := environ.get("HTTP_X_REMOTE_USER"):
        environ["REMOTE_USER"] = unquote(user)
    environ["SCRIPT_NAME"] = environ.get("HTTP_X_SCRIPT_NAME", "")
    environ["wsgi.url_scheme"] = environ.get("HTTP_X_FORWARDED_PROTO", "http")
    return dispatch_request(environ, start_response)
