"""Who shares bytes: homes of tensors, parts, lives, overlaps, and the order of operators."""
