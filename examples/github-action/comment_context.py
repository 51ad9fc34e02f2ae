"""Comment an issue with what the repository knows about it: code, documents and earlier commits, with their lines.

GitHub starts this with the event of an issue (see issue-context.yml). The issue's words are only searched for;
nothing in them is run. A comment that was made before is replaced, so that an edited issue has one comment.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

MARK = "<!-- weft: context of this issue -->"
"""Stands at the beginning of our comments, where readers do not see it."""
MOST_QUESTION_CHARACTERS = 4000
"""Issues may hold whole logs; the beginning says what it is about."""
MOST_COMMENT_CHARACTERS = 60_000
"""GitHub takes 65,536."""


def make_page(title: str, body: str, tokens: str) -> tuple[str, int]:
    """Return the page about an issue, and how many sources it has."""
    question = f"{title}\n\n{body}"[:MOST_QUESTION_CHARACTERS]
    # Through standard input, so that no word of the issue can be an option.
    done = subprocess.run(
        [sys.executable, "-m", "weft", "context", "-", "--max-tokens", tokens, "--guard", "--json"],
        input=question.encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    page = json.loads(done.stdout)
    return page["text"], len(page["sources"])


def write_comment(text: str) -> str:
    """Fold the page away under one line."""
    fitted = text[:MOST_COMMENT_CHARACTERS]
    return f"{MARK}\n<details><summary>What this repository knows about it</summary>\n\n{fitted}\n\n</details>\n"


def call(method: str, address: str, token: str, body: dict[str, Any] | None = None) -> Any:
    """Ask the API of GitHub."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, content, headers, method=method), timeout=30) as response:
        return json.loads(response.read())


def main() -> None:
    """Comment the issue of the event, or replace the comment that is there."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    issue, token = event["issue"], os.environ["GITHUB_TOKEN"]
    text, sources = make_page(issue["title"], issue.get("body") or "", os.environ.get("WEFT_TOKENS", "1500"))
    if not sources:
        print("Nothing in the repository speaks to this issue, so there is no comment.")
        return
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    comments = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{issue['number']}/comments"
    before = [each for each in call("GET", f"{comments}?per_page=100", token) if each["body"].startswith(MARK)]
    body = {"body": write_comment(text)}
    if before:
        call("PATCH", before[0]["url"], token, body)
    else:
        call("POST", comments, token, body)
    print(f"Commented issue {issue['number']} with {sources} sources.")


if __name__ == "__main__":
    main()
