"""Search in Milvus over a truth that is kept elsewhere: one machine with a file, or a cluster."""

from weft.store.milvus.index import MilvusIndex

__all__ = ["MilvusIndex"]
