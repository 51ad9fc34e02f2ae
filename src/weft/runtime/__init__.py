"""Hold what every part of a running process may use: a cache of recent values, and the deadline of an answer."""
