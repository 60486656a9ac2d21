"""The program that runs inside an environment: it builds a network, takes turns of steps and answers in JSON lines.

It imports the standard library, numpy and its one framework, and runs on Python 3.9 and newer.
"""
