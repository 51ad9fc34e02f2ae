"""`weft explore` serves the explorer on a free local port and opens the browser at the question."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from weft import Node, Weft


def test_explore_opens_the_browser_at_the_question_on_a_free_local_port(tmp_path: Path) -> None:
    store, opened = tmp_path / ".weft", tmp_path / "opened"
    with Weft.open(store, embedder=None) as weft:
        weft.put(Node("kitchen:1", "note", title="Lunch", text="Lunch is served at noon."))
    # A pipe in place of a browser: reading it waits until the address is handed over.
    os.mkfifo(opened)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{opened}"\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "weft", "explore", "When is lunch?", "--store", str(store)]
    environment = {**os.environ, "BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            address = opened.read_text("utf-8")
            assert address.startswith("http://127.0.0.1:")
            assert address.endswith("/explore?topic=When+is+lunch%3F")
            with urlopen(address) as page:
                assert b'id="question"' in page.read()
            with urlopen(address.replace("/explore?", "/explore/page?")) as answer:
                assert b"Lunch is served at noon." in answer.read()
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) in (0, 130, -signal.SIGINT)
