"""Make the pages of docs/reference/ from the code, so that they cannot say anything else than it does.

`python -m scripts.reference` writes them; tests/contracts/test_reference.py fails while one of them is old.
"""
