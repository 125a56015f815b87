"""Kernels with the DSP instructions of Cortex-M4, -M7, -M33 and others (Armv7E-M, Armv8-M with DSP)."""
