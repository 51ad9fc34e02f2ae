"""What every store must do, as the suite for plugins states it, tried on our own engines."""

from weft.testing.store_suite import *  # noqa: F403
