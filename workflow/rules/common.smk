TABLE_ENDINGS = ["csv", "md", "tex"]
FIGURE_ENDINGS = ["pdf", "svg", "png"]


def sources(*layers):
    """The package's own files of these layers: a corrected statistic must make its tables anew."""
    package = Path(workflow.basedir) / "src" / "tare"
    return sorted(str(path) for layer in layers for path in (package / layer).rglob("*.[pj]*[!c]") if path.is_file())


def no_container(wildcards):
    """Rules run in Tare's own environment; what runs in containers are the workers, started by the platforms."""
    return None


container: no_container


from pathlib import Path
