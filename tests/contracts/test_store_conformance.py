"""The requirements of every store, as the suite for plugins states them, tried on our own engines."""

from weft.testing.store_suite import *  # noqa: F403
