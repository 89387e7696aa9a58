"""Writes a safetensors file with the checksums that drove asks for (docs/inside/formats.md), for tests that change one."""
import ctypes
import json
import struct

_xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
_xxh3.argtypes, _xxh3.restype = (ctypes.c_char_p, ctypes.c_size_t), ctypes.c_uint64


def checksum(content):
    return _xxh3(content, len(content))


def _compact(tree):
    return json.dumps(tree, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def head(header, sums):
    """The bytes before the tensors.  header: without checksums, or with others; sums: {tensor: checksum}."""
    meta = header["__metadata__"]
    meta.pop("header_checksum", None)
    meta["checksums"] = _compact({name: "%016x" % value for name, value in sums.items()}).decode()
    meta["header_checksum"] = "%016x" % checksum(_compact(header))
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text


def whole(header, body):
    """All bytes of a file."""
    sums = {name: checksum(body[slice(*tensor["data_offsets"])]) for name, tensor in header.items() if name != "__metadata__"}
    return head(header, sums) + body
