"""All operators by name, found in the folders of operators and of kernels, and graphs run by their references."""
