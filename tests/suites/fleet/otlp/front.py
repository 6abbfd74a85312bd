"""What many sites put before a receiver of OTLP: TLS and a token. It is busy once for each kind of message.

front.py PORT CERTIFICATE KEY TOKEN RECEIVER
"""

import http.server
import ssl
import sys
import urllib.request

PORT, CERTIFICATE, KEY, TOKEN, RECEIVER = sys.argv[1:]
asked = set()


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers["authorization"] != TOKEN:
            return self.answer(401)
        if self.path not in asked:
            asked.add(self.path)
            return self.answer(503)
        kind = {"content-type": self.headers["content-type"]}
        request = urllib.request.Request(RECEIVER + self.path, body, kind)
        with urllib.request.urlopen(request) as response:
            self.answer(response.status, response.read())

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(PORT)), Front)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
