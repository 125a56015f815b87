"""Declarations of C kernels, one folder for each family, and what all declarations share."""
