"""A page that names its user, and server-sent events: event-stream.py PORT"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                for number in range(100_000):
                    self.wfile.write(f"data: {number}\n\n".encode())
                    time.sleep(0.05)
            except OSError:
                pass  # The reader has gone.
            return
        page = f"<!DOCTYPE html><title>Board</title><p>user: {self.headers.get('X-Remote-User', '')}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
