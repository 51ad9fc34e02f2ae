"""A stand-in for a server with an API like OpenAI's, which remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[dict[str, Any]], tuple[int, Any]]


class ModelServer:
    """The address of the server, and the requests that came in: path, key and body."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[tuple[str, str, dict[str, Any]]] = []


def completion(text: str) -> tuple[int, Any]:
    """The answer of a model that wrote this text."""
    return 200, {"choices": [{"message": {"role": "assistant", "content": text}}]}


@contextmanager
def serve_model(reply: Reply) -> Iterator[ModelServer]:
    """Serve on a free port of this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append((self.path, self.headers.get("Authorization", ""), body))
            status, answer = reply(body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", answer["to"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = ModelServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
