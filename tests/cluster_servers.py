"""Several PostgreSQL servers for tests of clusters: started, killed and started again in their own folders."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import postgres_server
from postgres_server import running_server, with_parameters


class Servers:
    """The servers of a cluster, by the name of their shard."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.urls: dict[str, str] = {}

    def location(self, *names: str, **parameters: str) -> str:
        """The addresses of some shards, or of all, as `--store` takes them."""
        chosen = names or tuple(self.urls)
        return " ".join(with_parameters(self.urls[name], shard=name, **parameters) for name in chosen)

    def kill(self, name: str) -> None:
        """Stop a server as when its machine is switched off."""
        postgres_server.stop(self.folder / name, "immediate")

    def start(self, name: str) -> None:
        """Start a server that was killed."""
        postgres_server.start(self.folder / name)


@contextmanager
def running_servers(folder: Path, *names: str) -> Iterator[Servers]:
    """Servers for the shards of these names."""
    servers = Servers(folder)
    with ExitStack() as running:
        for name in names:
            servers.urls[name] = running.enter_context(running_server(folder / name))
        yield servers
