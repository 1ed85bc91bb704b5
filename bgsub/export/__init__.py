"""Write the objects and events of a run in the formats of the programs that people use next."""
