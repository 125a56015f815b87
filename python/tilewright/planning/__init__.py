"""From a graph to a placed program: by search, or from a lock."""
