"""Integer operators from Q and DQ nodes around float operators."""
