"""What is to be measured: a study's configuration, its matrix, cell names, the order of blocks."""
