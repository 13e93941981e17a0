"""The master of a cluster: it takes submissions over HTTP, and sees to it that every topology has exactly one driver.

`serve` joins the parts. From the bottom up: `records` and `found` (what the store holds), `decide` (what is to be done, pure),
`reconciler` (does it), `submissions`, `topologies` (what users ask for), `app` (HTTP). Only `app` and `serve` know of
HTTP, and `client` at its other end. A master carries no tuple and decides nothing elastic; it may die at any moment.
"""
