"""Format what is known of a story for a query: the Smart Context Formatter."""
