"""Speed and size, measured side by side with peers; nothing here is part of the package."""
