"""What the shop does in the background: its handlers for pigeonhole."""
