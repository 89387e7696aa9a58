"""Writes what an installed package says of itself, from pyproject.toml: build_metadata.py VERSION OUTPUT.

For packages that CMake installs; pip has this from scikit-build-core.  Python 3.11 or later.
"""
import os
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))


def main(version, output):
    with open(os.path.join(HERE, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
