"""How a batch is split over the replicas of a component: one module a mechanism, `registry` picks it by the edge.

Called by the emitter; pure: no queue, no socket, time only through the clock it is given.
"""
