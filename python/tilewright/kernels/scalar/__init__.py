"""Kernels in plain C, one declaration module for each family of operators."""
