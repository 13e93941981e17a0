"""What is shown of a topology: `frame` and `outcome` are the numbers, `summary`, `view` and `live_view` the text.

`run`, `top` and `status` show it; nothing here asks anybody.
"""
