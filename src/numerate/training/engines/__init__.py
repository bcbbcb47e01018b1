"""Work on many files: a list of parts, a function of one part, and an engine that runs it on processes or machines.

`places` reads and writes local paths and fsspec addresses, `parts` cuts files into parts, `local` and `ray_cluster`
are the two engines, and `finished` remembers the results of parts, so that a restarted command continues.
"""
