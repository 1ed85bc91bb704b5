"""Draw figures and write tables of plain data."""
