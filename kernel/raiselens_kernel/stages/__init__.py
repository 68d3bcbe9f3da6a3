"""What `raiselens_kernel.verify` runs, each stage in a process of its own: a fault of one is an answer to the other.

A stage is a function from the request's JSON object to an answer's JSON object. `python -m raiselens_kernel.stages
NAME` reads the one on stdin and writes the other to what was stdout; whatever else prints goes to stderr.
"""
