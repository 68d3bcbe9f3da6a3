"""Abstract values: what is known of a value before the program runs.

`lattice` holds the values, `dims` the linear forms that sizes are kept in, `dtypes` the torch dtypes and their
promotion, and `ops` what torch's own operations do to abstract tensors. Nothing here knows of source text or files.
"""
