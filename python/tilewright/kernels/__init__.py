"""Declarations of C kernels, in one folder for each family, and the types and functions that they share."""
