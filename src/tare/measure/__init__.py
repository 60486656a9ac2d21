"""Runs a block: starts workers through platforms, warms up, gives turns, attests, writes records."""
