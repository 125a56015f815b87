# SPDX-License-Identifier: Apache-2.0
"""Whether this interpreter has a Tilewright with given sources; prints what is missing.

Called by TilewrightInterpreter.cmake as: python TilewrightCheck.py <package folder> <hash>.
Runs on any Python 3, so that an old one is told apart from a broken one.
"""

import hashlib
import os
import sys
from importlib.util import find_spec

NEEDED = ("jinja2", "numpy", "onnx")
SUFFIXES = (".py", ".cpp", ".hpp")


def package_hash(folder):
    """SHA-256 of the lines '<name> <sha256>' over the sources, as CMake computes it."""
    names = []
    for parent, folders, files in os.walk(folder):
        if parent == folder:
            folders[:] = [name for name in folders if name != "_data"]
        names += [os.path.join(parent, name) for name in files if name.endswith(SUFFIXES)]
    digest = hashlib.sha256()
    for name in sorted(names):
        with open(name, "rb") as file:
            content = hashlib.sha256(file.read()).hexdigest()
        relative = os.path.relpath(name, folder).replace(os.sep, "/")
        digest.update("{} {}\n".format(relative, content).encode())
    return digest.hexdigest()


def problem(folder, expected):
    """What keeps this interpreter from running the Tilewright in ``folder``, or nothing."""
    if sys.version_info < (3, 10):
        return "is Python {}.{}; 3.10 or newer is needed".format(*sys.version_info[:2])
    found = find_spec("tilewright")
    if found is None or not found.origin:
        return "does not have tilewright"
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        return "does not have " + ", ".join(missing)
    installed = os.path.dirname(found.origin)
    same = os.path.realpath(installed) == os.path.realpath(folder)
    if not same and package_hash(installed) != expected:
        return "has another tilewright than the one in use, in " + installed
    return ""


if __name__ == "__main__":
    # The script's folder is of no interest as a place of modules.
    del sys.path[0]
    print(problem(*sys.argv[1:]))
