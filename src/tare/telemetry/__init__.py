"""What the machine is, and how busy it is."""
