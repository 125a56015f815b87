"""Kernels with the vectors of Cortex-M55 and -M85 (Helium, Armv8.1-M with MVE)."""
