"""A search index in Milvus over a store that is kept elsewhere: in a file on one machine, or in a cluster."""

from weft.store.milvus.index import MilvusIndex

__all__ = ["MilvusIndex"]
