"""Groups of layers that run block by block, with rings of rows for the tensors between them."""
