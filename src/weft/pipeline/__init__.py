"""From a question to a page, one module for each stage."""
