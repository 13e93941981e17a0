"""Decides what runs where: changes of the activation table, repair, statistics. Knows no socket and no process."""
