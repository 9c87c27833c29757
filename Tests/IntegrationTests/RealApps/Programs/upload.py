"""Says how many bytes an upload had: upload.py PORT"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        self.answer(200, f"<p>user: {self.headers.get('X-Remote-User', '')}</p>", "text/html")

    def pieces(self):
        """The body, chunked or with a length."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            rest = int(self.headers["Content-Length"])
            while rest:
                piece = self.rfile.read(min(rest, 1 << 20))
                rest -= len(piece)
                yield piece
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def do_PUT(self):
        self.answer(201, f"received: {sum(map(len, self.pieces()))}\n", "text/plain")

    def log_message(self, format, *arguments):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
