"""Does the hook for prompts know when to speak?

python -m bench.silence --httpx FOLDER --gin FOLDER --pytest FOLDER --rack FOLDER --aiohttp FOLDER
    --express FOLDER --gson FOLDER --cobra FOLDER --vault FOLDER --novel FOLDER

Each folder holds a repository, vault or novel that was indexed in place (`weft index .`). Prompts that want
nothing and prompts that want something are sent to `weft-hook`, each in a session of its own. Sessions are kept
in the store, so run it on a copy. (`python -m bench.memory.session` measures what is handed out differently in a
session.)
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.silence_prompts import WANTS_NOTHING, WANTS_SOMETHING

SOURCES: Final = Path(__file__).parents[1] / "src"

NOTHING: Final = (
    "yes",
    "no, the other one",
    "go ahead",
    "ship it",
    "thanks, that looks great",
    "2",
    "ok do it",
    "hmm",
    "lgtm",
    "commit this",
    "push it to main",
    "undo that last change",
    "try again",
    "continue",
    "git status",
    "make it shorter",
    "translate that to French",
    "tell me a joke about cats",
    "what's the weather like?",
    "good morning",
    "stop",
    "why not",
    "run the tests again",
    "npm install",
    "ls -la",
    "rename it back",
    "sounds good, proceed",
    "never mind",
    "are you there?",
    "/clear",
    "write a limerick",
    "say that again in simpler words",
    "yep",
    "please fix it",
    "option b",
    "wait",
    "that's wrong, try again",
    "nice work!",
    "merge it",
    "open a pr",
)
"""Answers, go-aheads, thanks, small talk and commands to tools: none has a topic that a store could know."""
HTTPX: Final = (
    "where does the client decide whether to follow a redirect?",
    "how are proxies chosen from environment variables?",
    "add a test for decoding a gzip response that is cut off",
    "what happens to cookies when a redirect goes to another host?",
    "why does reading a streamed response twice raise an error?",
    "which exception is raised when the connection pool is exhausted?",
    "change the default timeout of the client",
    "how does digest authentication compute its response header?",
    "where are multipart form boundaries generated?",
    "explain how the async transport closes its connections",
    "what does the trust_env argument do?",
    "make URL joining keep the query string",
    "how is the charset of a response detected?",
    "the event hooks are not called for redirected requests, where should I look?",
    "where is the netrc file read for authentication?",
    "how does the mock transport hand back a response?",
    "support a custom SSL context in the client",
    "what does response.raise_for_status check?",
    "how are query parameters merged with those of the URL?",
    "where is the command line interface of httpx defined?",
)
GIN: Final = (
    "how does the router match wildcard parameters?",
    "where is the recovery middleware that catches panics?",
    "add a binding for YAML request bodies",
    "why does c.Next call the remaining handlers?",
    "how are trusted proxies used to find the client IP?",
    "what does the logger middleware print for each request?",
    "where are validation errors of struct tags produced?",
    "how does a route group combine its handlers with those of the engine?",
    "make the JSON renderer escape HTML characters",
    "what happens when no route matches a request?",
    "which files implement the radix tree of routes?",
    "how is a multipart form file saved to disk?",
    "the context is reused after the handler returns, where is it put back into the pool?",
    "how are query parameters bound to a struct?",
    "what does gin.SetMode change?",
    "where is basic authentication checked?",
    "how can a handler abort the chain with a JSON error?",
    "add a test for redirecting a trailing slash",
    "how does the engine serve static files?",
    "which content types does the negotiation support?",
)


def send(folder: Path, prompt: str, session: str) -> str:
    """Return what the hook adds to the conversation for a prompt."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": prompt, "cwd": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "weft.interfaces.hooks", "--deadline", "60"],
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        check=True,
    )
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in sorted(WANTS_SOMETHING):
        parser.add_argument(f"--{name}", type=Path)
    asked = vars(parser.parse_args())
    run = os.getpid()
    for name, folder in asked.items():
        if folder is None:
            continue
        nothing = [*NOTHING, *WANTS_NOTHING[name]]
        wanted = [*{"httpx": HTTPX, "gin": GIN}.get(name, ()), *WANTS_SOMETHING[name]]
        noisy = [prompt for at, prompt in enumerate(nothing) if send(folder, prompt, f"nothing-{run}-{at}")]
        mute = [prompt for at, prompt in enumerate(wanted) if not send(folder, prompt, f"some-{run}-{at}")]
        print(f"{name}: spoke at {len(noisy)} of {len(nothing)} that want nothing {noisy}")
        print(f"{name}: silent at {len(mute)} of {len(wanted)} that want something {mute}")


if __name__ == "__main__":
    main()
