"""The options that several commands share."""

from collections.abc import Callable
from typing import Annotated, Final

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


def whole_number_parser(meaning: str) -> Callable[[str], int]:
    """Make the parser of an option that takes a whole number; its error says what the number means."""

    def parse(written: str) -> int:
        try:
            return int(written)
        except ValueError:
            raise typer.BadParameter(f"{written!r} is not a whole number. {meaning}") from None

    return parse


_AS_OF_HELP: Final = "Only what is known up to this point of the sequence, such as a chapter."
AsOf = Annotated[
    int | None,
    typer.Option(
        "--as-of",
        metavar="N",
        parser=whole_number_parser(_AS_OF_HELP),
        help=_AS_OF_HELP,
    ),
]
