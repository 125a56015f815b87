"""From model files to graphs in normal form."""
