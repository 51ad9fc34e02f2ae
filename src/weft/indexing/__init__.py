"""From sources to the store: reading, preparing, writing, linking."""
