"""What is to be measured: the study's configuration, its matrix, the names of its cells and the order of its blocks."""
