"""Turn a question into a page, one module for each stage; `assemble.py` runs them in order."""
