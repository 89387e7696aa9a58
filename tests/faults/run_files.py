"""run_files.py - what the files of a run must be, for scripts/kills and scripts/faults: a reader of their own.

JSON parses; tensors and headers of safetensors files have the checksums that stand in them.
"""
import json
import struct

# XXH3, 64 bits, no seed: of tensors and headers.
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248e"
    "e03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d"
    "8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc"
    "8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def u64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & M64
    return h ^ h >> 32


def avalanche_xxh64(h):
    h = (h ^ h >> 33) * P64[1] & M64
    h = (h ^ h >> 29) * P64[2] & M64
    return h ^ h >> 32


def swap64(v):
    return int.from_bytes(v.to_bytes(8, "little"), "big")


def mix16(data, at, secret):
    return fold(u64(data, at) ^ u64(SECRET, secret), u64(data, at + 8) ^ u64(SECRET, secret + 8))


def xxh3_short(data):
    n = len(data)
    if n == 0:
        return avalanche_xxh64(u64(SECRET, 56) ^ u64(SECRET, 64))
    if n <= 3:
        word = data[0] << 16 | data[n >> 1] << 24 | data[-1] | n << 8
        return avalanche_xxh64(word ^ (u64(SECRET, 0) & M32) ^ (u64(SECRET, 0) >> 32))
    if n <= 8:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        h = (last + (first << 32)) ^ u64(SECRET, 8) ^ u64(SECRET, 16)
        h ^= (h << 49 | h >> 15) & M64 ^ (h << 24 | h >> 40) & M64
        h = h * 0x9FB21C651E98DF25 & M64
        h = (h ^ (h >> 35) + n) * 0x9FB21C651E98DF25 & M64
        return h ^ h >> 28
    low = u64(data, 0) ^ u64(SECRET, 24) ^ u64(SECRET, 32)
    high = u64(data, n - 8) ^ u64(SECRET, 40) ^ u64(SECRET, 48)
    return avalanche((n + swap64(low) + high + fold(low, high)) & M64)


def xxh3_middle(data):
    n = len(data)
    h = n * P64[0]
    if n <= 128:
        for i in range((n - 1) // 32, -1, -1):
            h += mix16(data, 16 * i, 32 * i) + mix16(data, n - 16 * (i + 1), 32 * i + 16)
        return avalanche(h & M64)
    for i in range(8):
        h += mix16(data, 16 * i, 16 * i)
    h = avalanche(h & M64)
    for i in range(8, n // 16):
        h += mix16(data, 16 * i, 16 * (i - 8) + 3)
    return avalanche(h + mix16(data, n - 16, 136 - 17) & M64)


def xxh3_long(data):
    n = len(data)
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]
    keys = [struct.unpack_from("<8Q", SECRET, 8 * i) for i in range(16)]

    def stripe(at, key):
        for i, value in enumerate(struct.unpack_from("<8Q", data, at)):
            mixed = value ^ key[i]
            acc[i ^ 1] = acc[i ^ 1] + value & M64
            acc[i] = acc[i] + (mixed & M32) * (mixed >> 32) & M64

    end = struct.unpack_from("<8Q", SECRET, 128)
    n_stripes = (n - 1) // 64
    for i in range(n_stripes):
        stripe(64 * i, keys[i % 16])
        if i % 16 == 15:
            for k in range(8):
                acc[k] = (acc[k] ^ acc[k] >> 47 ^ end[k]) * P32[0] & M64
    stripe(n - 64, struct.unpack_from("<8Q", SECRET, 192 - 64 - 7))
    h = n * P64[0]
    for i in range(4):
        h += fold(acc[2 * i] ^ u64(SECRET, 11 + 16 * i), acc[2 * i + 1] ^ u64(SECRET, 19 + 16 * i))
    return avalanche(h & M64)


def xxh3(data):
    data = bytes(data)
    if len(data) <= 16:
        return xxh3_short(data)
    return xxh3_middle(data) if len(data) <= 240 else xxh3_long(data)


def tensors_of(path):
    """Name -> bytes of a safetensors file, and its metadata; ValueError says what is wrong."""
    with open(path, "rb") as f:
        content = f.read()
    if len(content) < 8:
        raise ValueError("is cut short")
    n = u64(content, 0)
    if 8 + n > len(content):
        raise ValueError("has a header that is cut short")
    header = json.loads(content[8:8 + n])
    metadata = header.get("__metadata__", {})
    tensors = {name: content[8 + n + d["data_offsets"][0]:8 + n + d["data_offsets"][1]]
               for name, d in header.items() if name != "__metadata__"}
    size = max([d["data_offsets"][1] for name, d in header.items() if name != "__metadata__"], default=0)
    if len(content) != 8 + n + size:
        raise ValueError(f"has {len(content)} bytes, expected {8 + n + size}")
    stated = metadata.pop("header_checksum", None)
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if stated != f"{xxh3(text.encode()):016x}":
        raise ValueError("has a header with another checksum")
    sums = json.loads(metadata["checksums"])
    for name, data in tensors.items():
        if sums.get(name) != f"{xxh3(data):016x}":
            raise ValueError(f"{name} has another checksum")
    return tensors, metadata


def broken(path):
    """None, or why a file under its final name is not whole."""
    try:
        if path.endswith(".safetensors"):
            tensors_of(path)
        elif path.endswith(".json"):
            with open(path, "rb") as f:
                json.load(f)
        elif path.endswith(".jsonl"):
            with open(path, "rb") as f:
                for line in f.read().split(b"\n")[:-1]:
                    json.loads(line)
    except (ValueError, KeyError) as error:
        return f"is not whole: {error}"
    return None
