"""Tare measures what a platform costs deep-learning training.

This module stays free of imports: the worker starts from it inside every environment, old images included.
"""

__version__ = "0.1.0"
