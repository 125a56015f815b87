"""The linked firmware, read from its ELF file, against the plans of the models in it.

A chip runs neither the plan nor the C, but the program that a linker made of them. This part reads that program and
proves that it agrees with the plan: where pools lie, which bytes constants have, which functions ``<p>_run`` reaches,
and how much stack a run takes. A *way* is a path through the instructions of a function.
"""
