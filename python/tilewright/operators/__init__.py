"""Operators: attributes, iteration nests with affine accesses, and NumPy references."""
