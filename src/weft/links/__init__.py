"""Link nodes into a graph: mentions of names, shared tags, similar texts; and weigh how much each node matters."""

from weft.links.importance import compute_importance, digest_graph
from weft.links.mentions import MENTIONS_MAKER, draw_mentions, find_affected_keys

__all__ = ["MENTIONS_MAKER", "compute_importance", "digest_graph", "draw_mentions", "find_affected_keys"]
