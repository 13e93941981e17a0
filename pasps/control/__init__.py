"""Decides what runs where: changes of the activation table, statistics, and the loop that asks for them. Knows no socket and no process."""
