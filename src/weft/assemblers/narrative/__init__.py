"""The Smart Context Formatter for fiction."""
