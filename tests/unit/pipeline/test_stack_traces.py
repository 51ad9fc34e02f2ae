"""Tracebacks of many languages lead to their frames, the innermost last, and to the message of the error."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.pipeline.shapes import Frame, Shape, read_shapes

JAVA = """Exception in thread "main" java.lang.RuntimeException: the worker gave up
\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1511)
\tat org.post.Worker.run(Worker.java:20)
Caused by: org.post.LeaseException: lease is held by another worker
\tat org.post.Queue.lambda$lease$0(Queue.java:4)
\tat org.post.Worker.work(Worker.java:31)
\t... 2 more
"""
JAVASCRIPT = """file:///srv/src/queue.js:3
Error: lease is held by another worker
    at new Lease (file:///srv/src/lease.js:9:11)
    at async Queue.lease [as take] (/srv/src/queue.js:3:11)
    at /srv/src/main.js:12:5
    at node:internal/main/run_main_module:23:47
"""
GO = """panic: lease is held by another worker

goroutine 1 [running]:
example.org/post/queue.(*Queue).Lease(...)
\t/srv/queue/queue.go:4
main.main()
\t/srv/main.go:9 +0x1d
"""
RUST = """thread 'main' panicked at src/queue.rs:3:9:
lease is held by another worker
stack backtrace:
   0: rust_begin_unwind
             at /rustc/abc/library/std/src/panicking.rs:665:5
   1: post::queue::Queue::lease
             at ./src/queue.rs:3:9
note: run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
RUBY = """/srv/lib/queue.rb:3:in `lease': lease is held by another worker (LeaseError)
\tfrom /srv/lib/worker.rb:8:in 'block in Worker#run'
\tfrom /srv/main.rb:2:in `<main>'
"""
CSHARP = """Unhandled exception. Post.LeaseException: lease is held by another worker
   at Post.Queue.<LeaseAsync>d__5.MoveNext() in /srv/src/Queue.cs:line 4
   at Post.Worker.Run(String name, Int32 times) in C:\\srv\\src\\Worker.cs:line 12
"""
PHP = """PHP Fatal error:  Uncaught LeaseException: lease is held by another worker
Stack trace:
#0 /srv/src/worker.php(12): Post\\Queue->lease('a', 1)
#1 {main}
"""
LOGS = {
    "java": (
        JAVA,
        (Frame("Worker.java", 31, "org.post.Worker.work"), Frame("Queue.java", 4, "org.post.Queue.lease")),
    ),
    "javascript": (
        JAVASCRIPT,
        (Frame("/srv/src/queue.js", 3, "Queue.lease"), Frame("file:///srv/src/lease.js", 9, "Lease")),
    ),
    "go": (GO, (Frame("/srv/queue/queue.go", 4), Frame("", 0, "Lease"))),
    "rust": (RUST, (Frame("/rustc/abc/library/std/src/panicking.rs", 665), Frame("src/queue.rs", 3))),
    "ruby": (RUBY, (Frame("/srv/lib/worker.rb", 8, "run"), Frame("/srv/lib/queue.rb", 3, "lease"))),
    "csharp": (
        CSHARP,
        (
            Frame("C:\\srv\\src\\Worker.cs", 12, "Post.Worker.Run"),
            Frame("/srv/src/Queue.cs", 4, "Post.Queue.LeaseAsync"),
        ),
    ),
    "php": (PHP, (Frame("/srv/src/worker.php", 12, "lease"),)),
}


@pytest.mark.parametrize("language", LOGS)
def test_the_innermost_frames_come_last_with_file_line_and_name(language: str) -> None:
    log, innermost = LOGS[language]
    shapes = read_shapes(f"Why does this happen?\n\n{log}")
    assert shapes.frames[-len(innermost) :] == innermost
    assert Shape.TRACEBACK in shapes.asked


@pytest.mark.parametrize("language", LOGS)
def test_the_message_of_the_error_is_looked_for_as_a_phrase(language: str) -> None:
    assert read_shapes(LOGS[language][0]).quotations == ("lease is held by another worker",)


@pytest.mark.parametrize("language", LOGS)
def test_lines_end_as_windows_ends_them(language: str) -> None:
    log, _ = LOGS[language]
    assert read_shapes(log.replace("\n", "\r\n")).frames == read_shapes(log).frames


def test_a_very_long_traceback_of_java_keeps_its_innermost_frames() -> None:
    lines = [f"\tat org.post.Tree.walk{number}(Tree{number}.java:{number + 1})" for number in range(5_000)]
    frames = read_shapes("\n".join(["java.lang.StackOverflowError: too deep a tree", *lines])).frames
    assert frames[-1] == Frame("Tree0.java", 1, "org.post.Tree.walk0")
    assert len(frames) <= 24


@pytest.mark.parametrize(
    "question",
    [
        "Look at the lease: is it held at 12:30 or at noon?",
        "The order is:\n1: open the queue\n2: take a lease",
        "Ratio 3:4 at most, see chapter 2: the queue.",
    ],
)
def test_a_question_with_colons_and_lines_is_no_traceback(question: str) -> None:
    assert Shape.TRACEBACK not in read_shapes(question).asked


SOURCES = {
    "java": ("Queue.java", "class Queue {\n  /** Take one. */\n  void lease() {\n    hold();\n  }\n}\n"),
    "javascript": ("src/queue.js", "class Queue {\n  async lease() {\n    return new Lease(1);\n  }\n}\n"),
    "go": ("queue/queue.go", "package queue\n\nfunc (q *Queue) Lease() {\n\thold()\n}\n"),
    "rust": ("src/queue.rs", "impl Queue {\n    fn lease(&self) {\n        hold();\n    }\n}\n"),
    "ruby": ("lib/queue.rb", "class Queue\n  def lease\n    hold\n  end\nend\n"),
    "csharp": ("src/Queue.cs", "class Queue {\n  async Task LeaseAsync()\n  {\n    Hold();\n  }\n}\n"),
}


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("traces")
    for language, (file, text) in SOURCES.items():
        path = folder / "code" / language / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with Weft.open(folder / ".weft") as opened:
        opened.index(str(folder / "code"))
        yield opened


@pytest.mark.parametrize("language", SOURCES)
def test_the_definition_of_a_frame_is_on_the_page_with_the_traceback_as_its_reason(
    weft: Weft, language: str
) -> None:
    context = weft.context(f"Why does this happen?\n\n{LOGS[language][0]}", max_tokens=600)
    printed = {entry.key for entry in context.ledger if "shape_traceback" in entry.parts and entry.tokens}
    file = Path(language) / SOURCES[language][0]
    assert any(file.as_posix() in key and "ease" in key for key in printed), sorted(printed)


STEPS = "".join(f"  int step{number}() {{\n    return {number};\n  }}\n\n" for number in range(300))
BUSY = f"""package post;

public class Busy {{
{STEPS}  void last() {{
    throw new IllegalStateException("the ferry is " + load + " parcels too heavy for this rope");
  }}
}}
"""
EXPECTED = "".join(
    f"  void testLast{number}() {{\n"
    f'    expect("IllegalStateException: the ferry is {number} parcels too heavy for this rope");\n  }}\n\n'
    for number in range(6)
)
BUSY_TEST = f"package post;\n\nclass BusyTest {{\n{EXPECTED}}}\n"
TROUBLE = """# Troubleshooting

A message such as "the ferry is ... parcels too heavy for this rope" means that the scales were never set to zero.
"""
PASTED = """java.lang.IllegalStateException: the ferry is 3 parcels too heavy for this rope
\tat post.Busy.last(Busy.java:4)

What is the usual reason?"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("worlds") / "busy"
    for path, text in {
        "src/main/java/post/Busy.java": BUSY,
        "src/test/java/post/BusyTest.java": BUSY_TEST,
        "Troubleshooting.md": TROUBLE,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    with Weft.open(folder.with_name("store")) as weft:
        weft.index(folder)
        yield weft


def test_a_frame_is_found_by_its_name_in_a_class_of_many_members(busy: Weft) -> None:
    first = busy.context(PASTED, max_tokens=800).sources[0]
    assert first.key.endswith("Busy.java#Busy.last")


def test_what_documents_say_about_a_message_comes_before_the_tests_that_expect_it(busy: Weft) -> None:
    context = busy.context(PASTED, max_tokens=800)
    values = {entry.key: entry.parts.get("shape_quotation", 0.0) for entry in context.ledger}
    assert values["busy:Troubleshooting.md"] > max(value for key, value in values.items() if "BusyTest" in key) > 0
    assert "scales were never set to zero" in context.text


@pytest.mark.parametrize(
    ("line", "messages"),
    [
        (
            "post.PayloadError: Response is cut: <EncodingError: 400, message='Not enough data was sent'>",
            ("Response is cut", "Not enough data was sent"),
        ),
        (
            "ValueError: could not read the rates: PostError: no such file",
            ("could not read the rates", "no such file"),
        ),
        ("post.PayloadError: Response is not completed", ("Response is not completed",)),
    ],
)
def test_a_message_that_quotes_another_error_is_two_messages(line: str, messages: tuple[str, ...]) -> None:
    assert read_shapes(f"here is a failure: `{line}`, where is it made?").quotations == messages


def test_both_places_are_shown_where_a_message_quotes_another_error(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    inner = [
        f"""def read_{name}(data):
    if data is None:
        raise EncodingError("Not enough data to satisfy the {name} of a header")
"""
        for name in ("length", "width", "depth", "height", "weight")
    ]
    outer = "def finish(body):\n    if body:\n        raise PayloadError('Response is not completed: ' + body)\n"
    (tmp_path / "work" / "post.py").write_text("\n\n".join([*inner, outer]))
    error = "EncodingError: 400, message='Not enough data to satisfy the length of a header'"
    with Weft.open(tmp_path / "store") as weft:
        weft.index(tmp_path / "work")
        page = weft.context(
            f"`PayloadError: Response is not completed: <{error}>`: where are they made?", max_tokens=300
        )
    assert "raise PayloadError(" in page.text
    assert "satisfy the length of a header" in page.text.partition("###")[2]
