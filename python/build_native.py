"""Writes the C source of the extension module drove._native: build_native.py OUTPUT."""
import os
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))


def main(output):
    builder = cffi.FFI()
    with open(os.path.join(HERE, "declarations.h"), encoding="utf-8") as file:
        builder.cdef(file.read())
    builder.set_source("drove._native", "#include <drove/drove.h>\n")
    builder.emit_c_code(output)


if __name__ == "__main__":
    main(sys.argv[1])
