"""The shapes of questions, by many wordings of each, and by questions that only look alike."""

import pytest

from weft.pipeline.shape_phrases import Shape
from weft.pipeline.shapes import Frame, read_shapes, spell_names

ASKED: dict[Shape, tuple[str, ...]] = {
    Shape.HISTORY: (
        "which commit added the lease timeout?",
        "when was the retry limit raised",
        "When did the worker start to use leases?",
        "In which release was the old queue format dropped?",
        "since which version is the clock injectable",
        "why was the clock library swapped?",
        "who introduced the poison pill handling?",
        "why was the global lock removed?",
        "has the double delivery bug been fixed already?",
        "What was the first version to support priorities?",
        "show me the pull request that reworked the scheduler",
        "Show the git log of the retry module",
        "what changed between 1.2 and 1.3?",
        "By which commit was the default changed?",
        "how long has the flag been deprecated",
        "Which change fixed the deadlock in the worker?",
    ),
    Shape.RECENT: (
        "what are the latest changes to the scheduler?",
        "who last touched retry.py",
        "show the most recent commits on the queue",
        "which files were changed recently",
        "the newest change in the parser",
        "what was modified last in the clock module?",
        "what was recently updated in the worker",
        "list recent commits about leases",
        "when was the parser last changed",
        "last modification of the storage layer",
    ),
    Shape.RELEASES: (
        "in which version was the old queue format dropped?",
        "has the double delivery bug been fixed?",
        "the parser broke after upgrading",
        "what was the security fix in the session code?",
        "is the global lock deprecated?",
        "which option no longer works",
    ),
    Shape.VERSION: (
        "what is the newest release?",
        "when was the last release",
        "what's new in version 14",
        "what changed in 8.2?",
        "release notes of 2.0",
        "which version is this?",
        "what's new?",
        "what will the next version bring",
        "what did 3.1 change",
        "bugs that were fixed in v2.0.1",
    ),
    Shape.ENVIRONMENT: (
        "which environment variables does the worker read?",
        "is there an env var that turns colours off",
        "can the port be set through the environment?",
    ),
    Shape.PARAMETER: (
        "what may be passed as retry to the worker?",
        "which parameter sets the lease time",
        "what is the default of the retry limit?",
        "which arguments does take_lease accept",
    ),
    Shape.TESTS: (
        "what tests cover the lease renewal?",
        "which tests check that a poisoned job is parked",
        "Are there any tests for the backoff?",
        "how is the clock tested?",
        "where is retry covered by tests",
        "which unit tests exercise enqueue?",
        "is the parser tested anywhere?",
        "show me the tests for acquire",
        "what test cases verify the ordering",
        "Which regression tests would fail if jitter were removed?",
        "find tests that touch the lease table",
        "list all tests of the worker loop",
    ),
    Shape.DEFINITION: (
        "where is lease_job defined?",
        "Where is `retry` implemented?",
        "where does next_delay live",
        "show me the definition of RetryPolicy",
        "what does parse_header() do?",
        "which file defines JobQueue",
        "the implementation of take_lease",
        "how is acquire_lock implemented?",
        "in which module is compute_backoff declared and where is compute_backoff set up",
        "what is the signature of queue.push_back?",
        "show the source of open_store",
        "what arguments does make_plan take?",
    ),
    Shape.CALLERS: (
        "who calls lease_job?",
        "what uses RetryPolicy",
        "which functions call next_delay",
        "where is take_lease called?",
        "callers of open_store",
        "list all usages of parse_header",
        "find references to JobQueue",
        "where is compute_backoff used in the code",
        "every place that calls push_back()",
        "what would break if I rename make_plan, who uses it?",
        "who calls dispatch?",
        "show me the call sites of acquire_lock",
        "what depends on read_config?",
    ),
    Shape.OVERVIEW: (
        "What is this project?",
        "what's this repo about",
        "What does this library do?",
        "what kind of software is it?",
        "Give me a short overview.",
        "explain this codebase to me",
        "What is the purpose of this package?",
        "summarize the project, please",
        "Tell me about this repository.",
        "what problem does this tool solve?",
        "What is this?",
        "why would I use this framework?",
        "What can this program do for me?",
    ),
    Shape.MANIFEST: (
        "what are the runtime dependencies?",
        "Which Python versions are supported?",
        "what is the minimum Go version?",
        "how do I install it?",
        "which packages does it need to run",
        "What is the oldest Node release this works with?",
        "list the dependencies",
        "what does this library depend on?",
        "which third-party libraries are required?",
        "what are its requirements?",
        "under which licence is it published?",
        "What does a fresh install pull in?",
        "which Rust edition and compiler version do I need?",
    ),
    Shape.AUTOMATION: (
        "what does the CI run?",
        "on which platforms does continuous integration test",
        "which GitHub Actions exist here?",
        "What has to pass before a pull request is merged?",
        "show the build matrix",
        "when is a PR green?",
        "what do the GitHub workflows do",
        "which status checks are required",
        "describe the release pipeline",
        "how is the test matrix set up",
        "how does the ci/cd deploy",
        "how do I run the tests?",
        "how can one build the docs?",
        "how do we run the unit tests",
    ),
    Shape.SETTINGS: (
        "which config enables strict mypy?",
        "how is eslint configured?",
        "which linters are enabled",
        "what is the ruff target?",
        "which ruff rules are selected",
        "the settings for coverage",
        "what is the line length?",
    ),
    Shape.OPENING: (
        "How does the novel begin?",
        "how does the story open",
        "What happens in the opening scene?",
        "what is the first sentence of the book?",
        "With which words does the tale start?",
        "Where does the story begin?",
        "describe the very first scene",
        "what happens at the beginning of the novel?",
        "how does it all start",
        "How does chapter 3 begin?",
        "the opening of the book",
    ),
    Shape.EVENT: (
        "How did Mrs. Moore meet her end?",
        "Who killed Nancy?",
        "Whom does Evie marry?",
        "Who became Fielding's wife in the end?",
        "When was Pip born?",
        "what ended the marriage of Mr. McBryde",
    ),
    Shape.ENDING: (
        "How does the book end?",
        "how does it finish?",
        "what happens at the end of the story?",
        "What is the last sentence of the novel?",
        "describe the final scene",
        "how did the voyage conclude?",
        "What becomes of the harbour master?",
        "What is the ending of the tale?",
        "How do things turn out for Tamsin?",
        "How does chapter five close?",
        "what are the closing words",
        "With which words does the tale end?",
        "Where does the story end?",
        "tell me how it all ends",
    ),
    Shape.FLOW: (
        "what happens between push() and the job running?",
        "trace a job from enqueue to completion",
        "walk me through the start of the worker",
        "In which order are the hooks run?",
        "what is the call chain from main to write?",
        "how does a message get from the socket to the handler",
        "explain step by step how a page is made",
        "what goes on inside assemble()?",
        "show the execution path of a request",
        "take me through indexing",
        "which functions are involved when a file is saved",
    ),
    Shape.ORDER: (
        "In which order did we talk about the shed?",
        "list the order in which I brought up my plans",
        "give me a timeline of the move",
        "What happened with the landlord?",
        "which exam did I take first?",
        "walk me through how my essay grew",
    ),
    Shape.SUMMARY: (
        "Can you summarize my progress?",
        "a short recap of our sessions, please",
        "What have we agreed on so far?",
        "how has my resume developed over time?",
    ),
    Shape.COUNT: (
        "How many roses did I plant?",
        "how much have I spent in total",
        "list all the books I mentioned",
        "Which different tools did we try?",
    ),
}

NOT_ASKED: tuple[tuple[Shape, str], ...] = (
    (Shape.VERSION, "how does the version option work?"),
    (Shape.RELEASES, "the page is empty, how do I fix that?"),
    (Shape.RELEASES, "I made my own folder of templates, can its name be changed?"),
    (Shape.RELEASES, "how long are old versions of a note kept?"),
    (Shape.RELEASES, "what is the minimum Python version?"),
    (Shape.VERSION, "what is new in the parser"),
    (Shape.VERSION, "how do I release a lock?"),
    (Shape.RECENT, "what is new in version 14"),
    (Shape.HISTORY, "what happens when I click on save"),
    (Shape.HISTORY, "how do I commit a transaction?"),
    (Shape.HISTORY, "sessions are lost when the server restarts"),
    (Shape.HISTORY, "where is the lease stored"),
    (Shape.RECENT, "how do I read the last element of a list?"),
    (Shape.TESTS, "what is the latest value?"),
    (Shape.TESTS, "how do I use the test client?"),
    (Shape.TESTS, "the contest rules"),
    (Shape.TESTS, "how do I attest a build"),
    (Shape.CALLERS, "the tide clerk uses a lantern"),
    (Shape.CALLERS, "what does the harbour master call his boat?"),
    (Shape.CALLERS, "which functions does lease_job call?"),
    (Shape.DEFINITION, "where is the harbour?"),
    (Shape.OVERVIEW, "what is the application context?"),
    (Shape.OVERVIEW, "explain the package index to me"),
    (Shape.OVERVIEW, "what is this error about in the retry loop"),
    (Shape.OVERVIEW, "how do I add this tool to my path?"),
    (Shape.MANIFEST, "how do I declare a dependency with yield?"),
    (Shape.MANIFEST, "how do I go back to the page before?"),
    (Shape.AUTOMATION, "which cities does the story mention?"),
    (Shape.AUTOMATION, "how do I pass a value to the handler?"),
    (Shape.AUTOMATION, "how do I run the test client?"),
    (Shape.SETTINGS, "how are blueprints configured?"),
    (Shape.ENVIRONMENT, "in which environment does the crane work?"),
    (Shape.PARAMETER, "who was passed over for the post?"),
    (Shape.CALLERS, "where is a callable invoked, and what does run_app do?"),
    (Shape.SETTINGS, "where is debug mode turned on?"),
    (Shape.HISTORY, "where is the version flag added to a command?"),
    (Shape.OPENING, "how do I open a file?"),
    (Shape.OPENING, "how do I start the server?"),
    (Shape.EVENT, "which deadline applies to a query?"),
    (Shape.EVENT, "what did she do while her husband was away?"),
    (Shape.ENDING, "how do the front ends talk to the store?"),
    (Shape.ENDING, "how do I reach the end of the queue?"),
    (Shape.ENDING, "at which endpoint does the server listen"),
    (Shape.FLOW, "what is a workflow?"),
    (Shape.ORDER, "how do I order a list of dictionaries?"),
    (Shape.ORDER, "what happens when I click on save"),
    (Shape.SUMMARY, "what is a SummaryWriter for"),
    (Shape.COUNT, "how do I count rows?"),
)


@pytest.mark.parametrize(("shape", "question"), [(shape, each) for shape in ASKED for each in ASKED[shape]])
def test_a_shape_is_understood_in_many_wordings(shape: Shape, question: str) -> None:
    assert shape in read_shapes(question).asked


@pytest.mark.parametrize(("shape", "question"), NOT_ASKED)
def test_a_question_that_only_looks_alike_has_not_the_shape(shape: Shape, question: str) -> None:
    assert shape not in read_shapes(question).asked


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("where is lease_job?", ("lease_job",)),
        ("what does `retry` do", ("retry",)),
        ("does getHeader() fail", ("getHeader",)),
        ("JobQueue.push and MAX_JOBS", ("JobQueue.push", "MAX_JOBS")),
        ("who calls dispatch?", ("dispatch",)),
        ("where is loads defined?", ("loads",)),
        ("Where is the function _stream implemented?", ("_stream",)),
        ("where is it all defined in the end?", ()),
        ("see docs/retries.md, e.g. the HTTP part", ()),
        ("Why were Odo Farrant's boots dry?", ()),
    ],
)
def test_names_are_what_is_spelt_as_code(question: str, names: tuple[str, ...]) -> None:
    assert read_shapes(question).names == names


TRACEBACK = """Why does this fail?
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    run()
  File "/venv/lib/site-packages/pigeonhole/queue.py", line 41, in lease
    raise LeaseError("lease is held by another worker")
pigeonhole.LeaseError: lease is held by another worker
"""


def test_a_traceback_gives_its_frames_in_order_and_the_message_of_its_error() -> None:
    shapes = read_shapes(TRACEBACK)
    assert shapes.frames == (
        Frame("/app/main.py", 3, "<module>"),
        Frame("/venv/lib/site-packages/pigeonhole/queue.py", 41, "lease"),
    )
    assert shapes.quotations == ("lease is held by another worker",)
    assert {Shape.TRACEBACK, Shape.QUOTATION} <= shapes.asked


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ("    at lease (/srv/src/queue.js:41:7)", Frame("/srv/src/queue.js", 41, "lease")),
        ("    at org.post.Queue.lease(Queue.java:41)", Frame("Queue.java", 41, "org.post.Queue.lease")),
        ("\t/srv/queue/lease.go:41 +0x1d", Frame("/srv/queue/lease.go", 41)),
        ("example.org/post/queue.(*Queue).Lease(...)", Frame("", 0, "Lease")),
        ("tests/test_queue.py:12: in test_lease", Frame("tests/test_queue.py", 12, "test_lease")),
        ("FAILED tests/test_queue.py::TestQueue::test_lease", Frame("tests/test_queue.py", 0, "test_lease")),
    ],
)
def test_frames_of_several_languages_are_read(line: str, frame: Frame) -> None:
    assert read_shapes(f"panic: no lease\n\n{line}\n").frames == (frame,)


def test_a_very_long_traceback_keeps_its_last_frames() -> None:
    lines = [f'  File "/srv/a{number}.py", line {number}, in call{number}\n    go()' for number in range(5_000)]
    shapes = read_shapes("\n".join(["Traceback (most recent call last):", *lines, "ValueError: too deep a tree"]))
    assert shapes.frames[-1] == Frame("/srv/a4999.py", 4999, "call4999")
    assert len(shapes.frames) <= 24
    assert shapes.quotations == ("too deep a tree",)


def test_a_place_and_a_hash_are_read_and_plain_words_and_numbers_are_not() -> None:
    shapes = read_shapes("what did 4fb9528c2f do to src/queue.py:41, a decade and 1234567 jobs later?")
    assert shapes.places == (Frame("src/queue.py", 41),)
    assert shapes.hashes == ("4fb9528c2f",)


def test_only_long_quotations_are_looked_for() -> None:
    shapes = read_shapes('Who said "the tide waits for no clerk at all" in "the Counting House"?')
    assert shapes.quotations == ("the tide waits for no clerk at all",)


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("xix", 19), ("IV", 4), ("twelve", 12), ("dry", 0)])
def test_chapters_are_numbered_in_digits_roman_numerals_or_words(text: str, number: int) -> None:
    assert read_shapes(f"how does chapter {text} end?").chapters == ((number,) if number else ())


def test_an_error_in_a_sentence_is_read_by_its_quotation_marks() -> None:
    shapes = read_shapes("I get `pigeonhole.LeaseError: lease is held by another worker` at times. Why?")
    assert shapes.quotations[0].startswith("lease is held by another worker")


def test_files_are_read_with_their_folders() -> None:
    assert read_shapes("what changed last in src/queue.py or docs/retries.md?").files == (
        "src/queue.py",
        "docs/retries.md",
    )


def test_neighbouring_words_make_names_and_fillers_part_them() -> None:
    names = spell_names("how do cleanup contexts of the application run")
    assert {"cleanupcontext", "cleanup_context", "cleanupcontexts", "applicationrun"} <= names.keys()
    assert not any("ofthe" in name or "contextsof" in name for name in names)
    assert not spell_names("who calls test_cli_runner and app.json.dumps()?").keys() & {"test_cli", "cli_runner"}


def test_an_ordinary_question_has_no_shape() -> None:
    assert read_shapes("Why did the worker say database is locked?").asked == frozenset()
    assert read_shapes("").asked == frozenset()
