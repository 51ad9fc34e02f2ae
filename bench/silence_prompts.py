"""Prompts of three repositories: twenty that want nothing, though some share words with it, and ten that do."""

from typing import Final

WANTS_NOTHING: Final = {
    "httpx": (
        *(
            "looks good to me",
            "perfect, thank you!",
            "no",
            "yes, both of them",
            "1 and 3",
            "use the second option",
        ),
        *("can you redo that?", "shorter please", "now commit and push", "git diff --stat", "pip install -e ."),
        *("what do you think?", "hold on a second", "I'll be back in ten minutes", "write a haiku about spring"),
        *(
            "never mind, leave it",
            "great job on that",
            "please continue with the next step",
            "ok, run pytest again",
        ),
        "which model are you?",
    ),
    "gin": (
        *(
            "go on",
            "ship it",
            "that works, thanks",
            "nope",
            "undo",
            "do the same for the others",
            "let's try again",
        ),
        *("good night", "/compact", "go test ./...", "make it more concise", "explain that in German"),
        *("I agree", "both", "skip it for now", "rename it to something better", "yes please, and push"),
        *("how are you today?", "tell me a joke", "stop, that is wrong"),
    ),
    "pytest": (
        *(
            "sure",
            "all tests pass now, thanks",
            "ok",
            "try it without that",
            "run the tests",
            "run only the last one",
        ),
        *("please format it", "commit this with a good message", "ls -la src", "cd .. && git status", "why?"),
        *("sounds like a plan", "hmm, not sure", "keep going", "what's the time?", "good morning!", "fix it"),
        *("revert your last change", "summarize what you did", "option 2 it is"),
    ),
}
WANTS_SOMETHING: Final = {
    "httpx": (
        "how does the client merge headers of a request with its own?",
        "where is the response body decompressed?",
        "add support for zstd to the decoders",
        "what is raised when too many redirects happen?",
        "how can I mount a transport for one host only?",
        "the timeout for reading is ignored with the async client",
        "where are cookies stored between requests?",
        "how does basic auth encode the user name?",
        "refactor how URLs are normalised",
        "which class streams multipart uploads?",
    ),
    "gin": (
        "where does the context bind JSON bodies?",
        "how are path parameters read in a handler?",
        "add a middleware that limits the body size",
        "what does Abort do to pending handlers?",
        "where are HTML templates loaded?",
        "the client IP is wrong behind a proxy",
        "how is a panic in a handler recovered?",
        "how do I run the engine with TLS?",
        "where is the response writer's status set?",
        "how are routes printed in debug mode?",
    ),
    "pytest": (
        "where are fixtures with module scope torn down?",
        "how does assertion rewriting change the bytecode of a test module?",
        "add an option that stops after the slowest test",
        "how is tmp_path made for each test?",
        "where are marks checked for typos?",
        "parametrize ids contain unicode escapes, where does that happen?",
        "how does the capture manager suspend capturing?",
        "what does -x do in the session loop?",
        "how are conftest files found and loaded?",
        "where does the junit xml report get its properties?",
    ),
}
