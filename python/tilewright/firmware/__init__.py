"""The linked firmware, read from its ELF file, against the plans of the models in it.

A chip runs neither the plan nor the C but what a linker made of both. This part reads that and proves that it is what
the plan says: where pools lie, what constants hold, what the code below ``<p>_run`` calls, and how much stack it takes.
"""
