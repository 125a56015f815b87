"""Tile shapes: candidates from the nest, their cost, and the choice under the pools' sizes."""
