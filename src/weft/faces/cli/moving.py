"""`weft copy`: a store moves to another folder or engine."""

from typing import Annotated

import typer

from weft.faces import wiring
from weft.faces.cli import output
from weft.faces.cli.options import AsJson
from weft.faces.cli.progress import watched


def copy(
    start: Annotated[str, typer.Option("--from", metavar="STORE", help="The folder or URL of the store to copy.")],
    end: Annotated[
        str, typer.Option("--to", metavar="STORE", help="Where to copy it: an empty store or none yet.")
    ],
    as_json: AsJson = False,
) -> None:
    """Copy a store into another folder or onto a server; interrupted, the same command goes on."""
    with (
        wiring.open_weft(start, embedder="none", around=wiring.without_index()) as source,
        wiring.open_weft(end, embedder="none", create=True) as target,
        watched("copying") as progress,
    ):
        done = source.copy_to(target, progress)
        places = source.location, target.location
    if as_json:
        output.write_json({"from": places[0], "to": places[1], **output.shape(done)})
        return
    output.write(
        f"Copied {output.shown(places[0])} to {output.shown(places[1])}: {output.counted(done.nodes, 'node')} and "
        f"{output.counted(done.edges, 'link')}, the same in both ({done.fingerprint})."
    )
    if done.resumed_after:
        output.note("An earlier copy was gone on with.")
