"""What every index must do, as the suite for plugins states it, tried on our own engines."""

from weft.testing.index_suite import *  # noqa: F403
