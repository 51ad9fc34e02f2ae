"""What makes a pile of nodes a graph: names found in texts, and how much each node matters in it."""

from weft.links.importance import importance
from weft.links.mentions import MAKER, affected, each_mentions, link_mentions

__all__ = ["MAKER", "affected", "each_mentions", "importance", "link_mentions"]
