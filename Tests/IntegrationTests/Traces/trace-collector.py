#!/usr/bin/env python3
"""A collector of traces that keeps what it is sent, for tests.

trace-collector.py PORT [CERTIFICATE KEY [AUTHORITY OF CLIENTS]]: POST /v1/traces as OTLP over HTTP has it, by TLS if there is a certificate; GET /spans: what
came, as JSON; GET /count: the number of requests; POST /mode?status=503&seconds=1&retry=0: how it answers from now on, or
?refused=1&message=why: what it says of the spans that it takes. What Google's protobuf cannot read, or reads only in part, is answered
with 400 and kept as a fault.
"""
import gzip
import json
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

spans, faults, requests = [], [], []
mode = {"status": 200, "seconds": 0.0, "retry": "", "refused": 0, "message": ""}


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def known(message):
    """Whether each field of the message is one of its type, at every depth."""
    if len(UnknownFieldSet(message)):
        return False
    for _, content in message.ListFields():
        parts = content if hasattr(content, "__iter__") and not isinstance(content, (str, bytes)) else [content]
        if not all(known(part) for part in parts if hasattr(part, "ListFields")):
            return False
    return True


def read(body):
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    if not known(request):
        raise ValueError("unknown fields")
    for resource in request.resource_spans:
        about = {pair.key: value(pair.value) for pair in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8 and span.name
                assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
                yield {
                    "resource": about, "service": about["service.name"], "scope": scope.scope.name, "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(), "parent": span.parent_span_id.hex(), "state": span.trace_state,
                    "name": span.name, "kind": span.kind, "status": span.status.code, "flags": span.flags,
                    "links": [link.trace_id.hex() for link in span.links],
                    "attributes": {pair.key: str(value(pair.value)) for pair in span.attributes},
                }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status >= 400 and mode["retry"]:
            self.send_header("Retry-After", mode["retry"])
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            pass  # A gateway that has waited for long enough.

    def do_GET(self):
        if self.path == "/count":
            return self.answer(200, str(len(requests)).encode(), "text/plain")
        self.answer(200, json.dumps({"spans": spans, "faults": faults, "requests": requests}).encode())

    def do_POST(self):
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if url.path == "/mode":
            for name, values in parse_qs(url.query).items():
                mode[name] = type(mode[name])(values[0])
            return self.answer(200)
        status = mode["status"]
        time.sleep(mode["seconds"])
        requests.append({"path": url.path, "type": self.headers.get("Content-Type"), "fields": dict(self.headers)})
        if status == 200:
            try:
                # The gateway sends none so, and rotel all.
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                spans.extend(read(body))
            except Exception as error:
                faults.append(repr(error))
                status = 400
        answer = ExportTraceServiceResponse()
        if status == 200 and mode["message"]:
            answer.partial_success.rejected_spans = mode["refused"]
            answer.partial_success.error_message = mode["message"]
        self.answer(status, answer.SerializeToString(), "application/x-protobuf")


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # A gateway that does not trust the certificate, or a port that is looked for.


server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
if sys.argv[2:]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[2:4])
    if sys.argv[4:]:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
