"""Link nodes into a graph: mentions of names, shared tags, similar texts; and weigh how much each node matters."""

from weft.links.importance import importance
from weft.links.mentions import MAKER, affected, each_mentions

__all__ = ["MAKER", "affected", "each_mentions", "importance"]
