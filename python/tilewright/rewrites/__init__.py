"""Graph-to-graph passes between import and tiling."""
