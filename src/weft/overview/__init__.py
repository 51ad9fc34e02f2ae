"""Look over a store as a whole: what it holds and since when, timelines, casts, and what sessions were given."""
