"""The truth and the search derived from it; every engine keeps the contract of `weft.ports.Store`."""
