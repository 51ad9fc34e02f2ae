"""The options that several commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
StoreFolder = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="The store's folder, or its postgresql:// URL. Default: $WEFT_STORE, or the nearest .weft/.",
    ),
]
EmbedderSpec = Annotated[
    str | None,
    typer.Option(
        "--embedder", metavar="SPEC", help="static, none, onnx:PATH, … Default: $WEFT_EMBEDDER, or static."
    ),
]
Tenants = Annotated[
    list[str] | None,
    typer.Option("--tenant", metavar="NAME", help="Whose knowledge to read; may be repeated. Default: default."),
]
OwnTenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose knowledge this is.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", metavar="KIND", help="Only nodes of this kind; may be repeated.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only nodes with this tag; may be repeated.")
]
Sources = Annotated[
    list[str] | None, typer.Option("--source", metavar="NAME", help="Only nodes of this source; may be repeated.")
]
Freshness = Annotated[
    str,
    typer.Option(
        "--consistency",
        metavar="LEVEL",
        help="How fresh replicas and clusters must be: strong (default), session, bounded or eventually.",
    ),
]


def _point(written: str) -> int:
    """A point of a story by its number."""
    try:
        return int(written)
    except ValueError:
        raise typer.BadParameter(f"{written!r} is no number. Give that of a chapter, such as 3") from None


AsOf = Annotated[
    int | None,
    typer.Option(
        "--as-of",
        metavar="N",
        parser=_point,
        help="Only what is known up to this point of the sequence (a chapter, …).",
    ),
]
