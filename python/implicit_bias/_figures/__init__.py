"""Published figures, computed again: the numbers as a table, and the picture of them. One module a figure."""
