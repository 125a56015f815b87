"""Tools beside the compiler that read plans, run programs, and write what builds need."""
