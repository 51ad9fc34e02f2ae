"""The explorer: a page in the browser that shows a context while it is made, its budget, and why."""
