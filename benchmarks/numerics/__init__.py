"""Numerics versions: whether the numbers that a system computes are still those that rows were made with.

A *system* is a method of the library that rows stand on, such as `tap` or `rocket`. Its probe (`probes`) computes a few
numbers from tiny data and fixed seeds; the ledger (`ledger.json`) has these numbers for the current version of the
system, and a sentence for every version. A row carries the versions of its systems, and is stale when one of them has a
newer version now. Decision 0064 says why.
"""
