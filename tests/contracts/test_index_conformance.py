"""The requirements of every index, as the suite for plugins states them, tried on our own engines."""

from weft.testing.index_suite import *  # noqa: F403
