"""Retrievers for LangChain, LlamaIndex and Haystack."""
