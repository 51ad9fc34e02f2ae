"""Make thumbnails of pictures that lie in the media folder."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from pigeonhole.handlers import handles

MEDIA = Path("/srv/media")
SIZES = (1280, 640, 160)


@handles("thumbnail")
def thumbnail(body: object, renew: Callable[[], None]) -> None:
    """Make every size of one picture, and renew the lease between two sizes.

    The body holds the path and never the picture: see docs/bodies.md.
    """
    picture = locate(body)
    for size in SIZES:
        target = picture.with_name(f"{picture.stem}-{size}.jpg")
        # Made before, by a worker that lost its lease afterwards.
        if not target.exists():
            subprocess.run(["vipsthumbnail", str(picture), "--size", str(size), "-o", str(target)], check=True)
        renew()


def locate(body: object) -> Path:
    """Return the path of the picture; one outside of the media folder is refused."""
    path = (MEDIA / str(body)).resolve()
    if not path.is_relative_to(MEDIA):
        raise PermissionError(f"{body!r} leads out of {MEDIA}.")
    return path
