"""What every part may use: errors, TOML files, output files, progress. It imports nothing else of Tilewright."""
