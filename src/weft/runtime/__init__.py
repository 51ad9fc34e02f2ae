"""Hold what every part of a running process may use: a cache, the deadline of an answer, and servers of models."""
