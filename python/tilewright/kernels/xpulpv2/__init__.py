"""Kernels with the SIMD instructions of PULP cores."""
