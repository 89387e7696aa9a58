# Small files of arrays that declare, or unpack to, more than memory should be given to are refused before it is taken.
# ctest: slow: a file that declares little and holds 4 GB, four times
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
has_proc || exit 77

cat >make.py <<'EOP'
import bz2, gzip, lzma, struct, zlib

MIB = 1 << 20

def head(shape, kind="|u1"):
    text = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)).ljust(117)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.encode() + b"\n"

# The same zeros over and over: streams, or parts of one stream, that follow each other.
def zeros_in(name, pack, first, n_mib):
    step = 64 if n_mib % 64 == 0 else 1
    with open(name, "wb") as file:
        file.write(pack(first))
        file.write(pack(bytes(step * MIB)) * (n_mib // step))

def deflated(first, n_mib):
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = z.compress(first) + z.flush(zlib.Z_FULL_FLUSH)
    part = z.compress(bytes(MIB)) + z.flush(zlib.Z_FULL_FLUSH)
    return start + part * n_mib + z.flush(zlib.Z_FINISH)

# members: name, deflated bytes, first bytes, MiB of zeros behind them that are declared
def archive(name, *members):
    body = directory = b""
    for member, packed, first, n_mib in members:
        crc = zlib.crc32(bytes(MIB), zlib.crc32(first)) if n_mib == 1 else zlib.crc32(first)
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, crc, len(packed), len(first) + n_mib * MIB, len(member), 0)
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + member
        body += b"PK\x03\x04" + fields + member + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    with open(name, "wb") as file:
        file.write(body + directory + b"PK\x05\x06" + end)

big = head((3911 * 1024, 1024))     # 4.1 GB
small = head((1024, 1024))          # 1 MiB
labels = head((1024,)) + bytes([0, 1] * 512)
y = b"y.npy", deflated(labels, 0), labels, 0
archive("declares.npz", (b"x.npy", deflated(big, 3911), big, 3911), y)
archive("lies.npz", (b"x.npy", deflated(small, 3911), small, 1), y)
many = head((3911 * 1024,)) + bytes(3911 * 1024)
archive("lies-twice.npz", (b"x.npy", deflated(big, 3911), big, 1), (b"y.npy", deflated(many, 0), many, 0))
archive("good.npz", (b"x.npy", deflated(small, 1), small, 1), y)
# as floats four times as large; the labels are too few
wide = head((255 * 1024, 1024), "|i1")
archive("few-labels.npz", (b"x.npy", deflated(wide, 255), wide, 255), y)
open("y.npy", "wb").write(labels)
open("many.npy", "wb").write(many)
for ending, pack in ("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress):
    zeros_in("declares.npy." + ending, pack, big, 3911)
    zeros_in("lies.npy." + ending, pack, small, 3904)
    zeros_in("good.npy." + ending, pack, small, 1)
zeros_in("declares.idx.gz", gzip.compress, struct.pack(">IIII", 0x0803, 3911, 1024, 1024), 3911)
open("y.idx", "wb").write(struct.pack(">II", 0x0801, 3911) + bytes(3911))
# plain, and larger than nine tenths of the memory; on the disk it has no bytes
memory = [int(line.split()[1]) * 1024 for line in open("/proc/meminfo") if line.startswith("MemTotal")][0]
rows = memory // 10 * 9 // 1024
with open("sparse.npy", "wb") as file:
    file.write(head((rows, 1024)))
    file.truncate(file.tell() + rows * 1024)
with open("sparse-y.npy", "wb") as file:
    file.write(head((rows,)))
    file.truncate(file.tell() + rows)
EOP
python3 make.py

# Runs a command in Python, which knows how much memory it took; the first argument is the most, in MB.
cat >watched.py <<'EOP'
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if most > int(sys.argv[1]):
    sys.exit("%s: took %d MB" % (sys.argv[-1], most))
sys.exit(status)
EOP

refused() { # DATA WORD
    status=0
    python3 watched.py 200 "$DROVE" train --data "$1" --until epochs=1 >out.txt 2>err.txt || status=$?
    [ "$status" = 2 ] || fail "$1: expected status 2, found $status: $(cat err.txt)"
    [ "$(wc -l <err.txt)" = 1 ] || fail "$1: expected one line: $(cat err.txt)"
    grep -q "$2" err.txt || fail "$1: expected \"$2\": $(cat err.txt)"
}

refused declares.npz 'declares.npz:x.npy: expected a member that unpacks to at most 200 times its size'
refused lies.npz 'lies.npz:x.npy: damaged: its content is longer than its directory entry says'
refused lies-twice.npz 'x.npy: its header declares 4004864 x 1024 numbers of 1 bytes, more than the file can hold (1048704 bytes)'
refused few-labels.npz 'y.npy: expected 261120 targets, one for each example, found 1024'
refused npy:sparse.npy,sparse-y.npy "sparse.npy: expected examples that fit in memory, found [0-9]* x 1024 numbers, which would take"
run_for 0 train good.npz --until epochs=1 --out good

for ending in gz bz2 xz; do
    run data info npy:good.npy.$ending,y.npy
    if [ "$status" != 0 ]; then
        grep -q 'this build cannot read' err.txt || fail "good.npy.$ending: $(cat err.txt)"
        echo "skip: $(cat err.txt)"
        continue
    fi
    refused npy:declares.npy.$ending,many.npy \
        "declares.npy.$ending: expected a file that unpacks to at most 200 times its size"
    refused npy:lies.npy.$ending,y.npy "lies.npy.$ending: expected the end of the file at byte 1048704, found more"
done
refused idx:declares.idx.gz,y.idx 'declares.idx.gz: expected a file that unpacks to at most 200 times its size'
