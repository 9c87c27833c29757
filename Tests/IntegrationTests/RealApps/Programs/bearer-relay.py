"""Adds TLS and a bearer token to the requests of a WebDAV client that has neither: bearer-relay.py PORT HOST TOKEN"""

import http.client
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, HOST, TOKEN = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PER_CONNECTION = {"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "expect", "content-length"}
connections = threading.local()
context = ssl._create_unverified_context()


class Relay(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            whole = b""
            while size := int(self.rfile.readline(), 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def relay(self):
        fields = {"Authorization": f"Bearer {TOKEN}"}
        for name, value in self.headers.items():
            # URLs in Destination and If are those of the gateway for a client that has TLS.
            if name.lower() not in PER_CONNECTION | {"host"}:
                fields[name] = value.replace(f"http://127.0.0.1:{PORT}", f"https://{HOST}")
        if not hasattr(connections, "one"):
            connections.one = http.client.HTTPSConnection(HOST, context=context)
        body = self.body()
        connections.one.request(self.command, self.path, body or None, fields)
        answer = connections.one.getresponse()
        content = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in PER_CONNECTION:
                self.send_header(name, value)
        if self.command == "HEAD" and answer.getheader("Content-Length"):
            self.send_header("Content-Length", answer.getheader("Content-Length"))
        elif answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.relay
        raise AttributeError(name)

    def log_message(self, format, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", PORT), Relay).serve_forever()
