"""Kernels with the vector extension of RISC-V (RVV 1.0, Zve32x and more)."""
