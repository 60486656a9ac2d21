import os
from pathlib import Path

TABLE_ENDINGS = ["csv", "md", "tex"]
FIGURE_ENDINGS = ["pdf", "svg", "png"]


def sources(*layers):
    """The package's own files of these layers: a corrected statistic must make its tables anew."""
    package = Path(workflow.basedir) / "src" / "tare"
    files = [
        path
        for layer in layers
        for path in (package / layer).rglob("*")
        if path.is_file()
    ]
    # as seen from here: Snakemake compares the names of inputs, and the project may be moved
    return sorted(
        os.path.relpath(path) for path in files if "__pycache__" not in path.parts
    )


def no_container(wildcards):
    """Rules run in Tare's own environment; what runs in containers are the workers, started by the platforms."""
    return None


container: no_container
