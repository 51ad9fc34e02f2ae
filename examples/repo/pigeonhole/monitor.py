"""Answer a monitor over HTTP: /metrics for graphs, /healthz for the alarm."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pigeonhole import report
from pigeonhole.queue import Queue

TOO_OLD = 300.0
"""Seconds after which a job that is due and not taken means that nobody works."""


def check(queue: Queue, now: float) -> tuple[int, str]:
    """Return a status and a sentence: healthy is a queue whose jobs move, not a process that answers."""
    waiting = report.waiting_for(queue, now)
    if waiting > TOO_OLD:
        return 503, f"The oldest job has been waiting for {waiting:.0f} s; at most {TOO_OLD:.0f} s are normal.\n"
    return 200, "Jobs are moving.\n"


def make_server(port: int, path: str, clock: Callable[[], float]) -> ThreadingHTTPServer:
    """Make a server for one queue. Every request opens the file anew: connections belong to one thread."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            queue = Queue(path)
            if self.path == "/metrics":
                status, text = 200, report.metrics(queue, clock(), path)
            elif self.path == "/healthz":
                status, text = check(queue, clock())
            else:
                status, text = 404, "Ask for /metrics or /healthz.\n"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            """Print nothing: a monitor asks every ten seconds."""

    return ThreadingHTTPServer(("127.0.0.1", port), Answer)
