"""Where stories are read from: a store, or nothing when there is none that answers."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Protocol

from weft.assemble import assemble
from weft.gather import Desk, Observe
from weft.loading import load_profile
from weft.model import Context, Node, Request, View
from weft.profile import Profile
from weft.store.handed import HandedIndex, HandedSnapshot
from weft.tokens import counter_for


class Reading(Protocol):
    """What the formatter asks of a store; a `Weft` is one."""

    def profile(self, name: str) -> Profile:
        """A profile by name."""
        ...

    def desk(self, view: View) -> AbstractContextManager[Desk]:
        """One pinned reading."""
        ...

    def show(self, name: str, *, tenants: Sequence[str] = ..., as_of: int | None = None) -> tuple[Node, ...]:
        """The nodes that a key, id, title or alias names."""
        ...

    def assemble(
        self, request: Request, now: datetime, observe: Observe | None = None, profile: Profile | None = None
    ) -> Context:
        """The context for a request."""
        ...


class NoStore:
    """Stands in for a store that does not answer: what callers bring is laid out by the same pipeline."""

    def profile(self, name: str) -> Profile:
        """A built-in profile."""
        return load_profile(name)

    @contextmanager
    def desk(self, view: View) -> Iterator[Desk]:
        """A reading of nothing."""
        yield _desk((), view)

    def show(self, name: str, *, tenants: Sequence[str] = (), as_of: int | None = None) -> tuple[Node, ...]:
        """Nothing has a name."""
        return ()

    def assemble(
        self, request: Request, now: datetime, observe: Observe | None = None, profile: Profile | None = None
    ) -> Context:
        """The context of the candidates that came with the request."""
        brought = tuple(each.node for each in request.candidates or ())
        count, _ = counter_for(request.token_model)
        chosen = profile or self.profile(request.profile)
        return assemble(request, chosen, _desk(brought, request.view), count, now, observe)


def _desk(brought: tuple[Node, ...], view: View) -> Desk:
    return Desk(HandedSnapshot(brought, view), HandedIndex(), None)
