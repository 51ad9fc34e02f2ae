"""One browser and one service for all tests of the explorer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rest_service import make_service, running
from weft import Node, Weft

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script> **bold** [a](javascript:1)'


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a service over the example worlds and some texts of other languages and intentions."""
    if not request.config.getoption("--browser"):
        pytest.skip("needs a browser: run with --browser")
    from chromium import make_world

    store = make_world(tmp_path_factory.mktemp("world"))
    with Weft.open(store) as weft:
        weft.put(
            [
                Node(
                    key="odd:hostile", kind="note", title=HOSTILE, text=f"Quarterly hostility report.\n{HOSTILE}"
                ),
                Node(
                    key="odd:japanese",
                    kind="note",
                    title="昼食の時間",
                    text="昼食は正午に黄色いホールで出されます。",
                ),
                Node(
                    key="odd:hebrew", kind="note", title="שלום עולם", text="שלום עולם, זה טקסט בעברית על אבטיחים."
                ),
            ]
        )
    with running(make_service(store, read_only=True)) as found:
        yield found


@pytest.fixture(scope="session")
def shared_browser(address: str) -> Iterator[object]:
    from chromium import open_browser

    with open_browser() as browser:
        yield browser


@pytest.fixture
def keyed_address(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A service that wants a key, and a key for one of its tenants."""
    if not request.config.getoption("--browser"):
        pytest.skip("needs a browser: run with --browser")
    from rest_service import make_key

    store = tmp_path / ".weft"
    with Weft.open(store) as weft:
        weft.put(
            [Node(key="a:1", kind="note", tenant="acme", title="Acme lunch", text="Acme eats lunch at noon.")]
        )
        weft.put(
            [Node(key="b:1", kind="note", tenant="other", title="Other lunch", text="Other lunch is secret.")]
        )
    key = make_key(store, "acme")["Authorization"].removeprefix("Bearer ")
    with running(make_service(store)) as found:
        yield found, key


@pytest.fixture
def explorer(shared_browser: object, address: str) -> object:
    """The explorer over the example worlds, which only looks."""
    from chromium import Explorer

    return Explorer(shared_browser, address)  # type: ignore[arg-type]


@pytest.fixture
def writing_explorer(shared_browser: object, tmp_path: Path) -> Iterator[object]:
    """An explorer that may change its store, which has some notes, memories and pages handed out."""
    from chromium import Explorer
    from small_worlds import make_world_to_correct

    store = make_world_to_correct(tmp_path)
    with running(make_service(store, explorer_writes=True)) as found:
        yield Explorer(shared_browser, found)  # type: ignore[arg-type]


@pytest.fixture
def book_explorer(shared_browser: object, tmp_path: Path) -> Iterator[object]:
    """An explorer that may change its store, which has a short novel."""
    from chromium import Explorer
    from small_worlds import make_book

    store = make_book(tmp_path)
    with running(make_service(store, explorer_writes=True)) as found:
        yield Explorer(shared_browser, found)  # type: ignore[arg-type]


@pytest.fixture
def chat_explorer(shared_browser: object, tmp_path: Path) -> Iterator[object]:
    """An explorer over a short conversation."""
    from chromium import Explorer
    from small_worlds import make_chat

    with running(make_service(make_chat(tmp_path), read_only=True)) as found:
        yield Explorer(shared_browser, found)  # type: ignore[arg-type]
