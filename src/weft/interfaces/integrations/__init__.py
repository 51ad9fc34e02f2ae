"""Retrievers for LangChain, LlamaIndex and Haystack; `retrieval` holds what they share."""
