#!/bin/bash
# Images and NumPy archives that Pillow, NumPy and Python's tarfile write, against what they read and resize: folders,
# tar archives and .npz files give the same numbers, a model trains on them, and predictions name their files.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

python=
for name in /usr/bin/python3 "$(type -P python3)"; do
    if $name -c 'import numpy, PIL' 2>/dev/null; then python=$name && break; fi
done
if [ -z "$python" ]; then
    echo "skipped: no Python with NumPy and Pillow (Debian: python3-numpy, python3-pil)"
    exit 77
fi
run data info "images:$DROVE_SOURCE_DIR/tests/fuzz/corpus/picture?label=none&skip=1&size=4&channels=3"
if [ "$status" != 0 ]; then
    grep -q 'this build cannot read' err.txt || fail "$(cat err.txt)"
    echo "skipped: $(cat err.txt)"
    exit 77
fi

cat >make.py <<'EOF'
import io, json, os, tarfile
import numpy as np
from PIL import Image

rng = np.random.default_rng(1)

def noise(height, width, channels):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin(x / 7 + k) + 25 * np.cos(y / 5) for k in range(channels)]
    pixels = np.stack(waves, -1) + rng.normal(0, 6, (height, width, channels))
    return np.clip(pixels, 0, 255).astype(np.uint8)

def picture(height, width, channels, mode=None):
    pixels = noise(height, width, channels)
    return Image.fromarray(pixels if channels > 1 else pixels[..., 0], mode)

for folder in ('d/train/cat', 'd/train/dog/deep', 'd/val/cat', 'd/val/dog'):
    os.makedirs(folder)
picture(40, 60, 3).save('d/train/cat/a.png')
picture(33, 57, 3).save('d/train/cat/b.jpg', quality=90)
picture(20, 20, 1).save('d/train/cat/grey.png')
picture(50, 30, 3).convert('P').save('d/train/cat/palette.png')
Image.fromarray(noise(50, 30, 1)[..., 0].astype(np.uint16) * 257 + 3).save('d/train/cat/sixteen.png')
picture(31, 30, 4).save('d/train/dog/alpha.png')
picture(31, 30, 1).save('d/train/dog/grey.jpg')
picture(31, 30, 4, 'CMYK').save('d/train/dog/cmyk.jpg', quality=95)
picture(30, 31, 3).save('d/train/dog/deep/progressive.jpeg', progressive=True)
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x112] = orientation
    picture(24, 37, 3).save('d/train/dog/o%d.jpg' % orientation, exif=exif, quality=95)
picture(12, 10, 3).convert('1').save('d/train/dog/one.png')
picture(5, 7, 3).save('d/train/dog/tiny.png')
picture(40, 60, 3).save('d/val/cat/x.png')
picture(40, 60, 3).save('d/val/dog/y.jpg')

# the same images in the order of their paths, two archives of each format
paths = sorted(os.path.join(at, name) for at, _, names in os.walk('d/train') for name in names)

def add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))

for kind, form in (('pax', tarfile.PAX_FORMAT), ('gnu', tarfile.GNU_FORMAT)):
    for part in range(2):
        with tarfile.open('%s-%02d.tar' % (kind, part), 'w', format=form) as archive:
            for i, path in list(enumerate(paths))[part * 8:8 if part == 0 else None]:
                key = 'dir/' + 'k' * (130 if i % 2 else 3) + '%06d' % i
                label = path.split('/')[2]
                add(archive, key + os.path.splitext(path)[1], open(path, 'rb').read())
                if kind == 'pax': add(archive, key + '.cls', label.encode())
                else: add(archive, key + '.json', json.dumps({'label': label}).encode())
EOF
cat >compare.py <<'EOF'
import os, sys
import numpy as np
from PIL import Image, ImageOps

height, width, channels = (int(word) for word in sys.argv[1:4])
x, y = np.load('x.npy').reshape(-1, channels, height, width), np.load('y.npy')
paths = sorted(os.path.join(at, name) for at, _, names in os.walk('d/train') for name in names)
assert len(paths) == len(x) == len(y), (len(paths), len(x))
for i, path in enumerate(paths):
    assert y[i] == ('/dog/' in path), path
    image = ImageOps.exif_transpose(Image.open(path))
    if image.mode.startswith('I'): image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = image.convert('RGB') if channels == 3 else image.convert('RGB').convert('L')
    step = min(image.width / width, image.height / height)
    left, top = (image.width - width * step) / 2, (image.height - height * step) / 2
    box = (left, top, left + width * step, top + height * step)
    wanted = np.asarray(image.resize((width, height), Image.BILINEAR, box=box)).reshape(height, width, channels)
    worst = np.abs(wanted.transpose(2, 0, 1).astype(int) - x[i].astype(int)).max()
    assert worst <= 1, (path, worst) # Pillow rounds between rows and columns
EOF
$python make.py
for shape in '32 24 3' '16 16 1' '64 48 3' '24 37 3' '1 1 3'; do
    read -r height width channels <<<"$shape"
    rm -f x.npy y.npy
    run_for 0 data convert "images:d?size=${height}x$width&channels=$channels" npy:x.npy,y.npy
    $python compare.py "$height" "$width" "$channels" || fail "$shape: not what Pillow gives"
done

run_for 0 data convert 'images:d?size=16&channels=3' npy:folder.x,folder.y
for data in 'pax-{00..01}.tar' 'webdataset:gnu-{00..01}.tar'; do
    rm -f tar.x tar.y
    run_for 0 data convert "$data?size=16&channels=3" npy:tar.x,tar.y
    cmp folder.x tar.x && cmp folder.y tar.y || fail "$data: not the images of the folder"
done

# NumPy's archives: the same inputs as NPY, and a model file that fits both
$python -c '
import numpy as np
x, y = np.load("folder.x"), np.load("folder.y")
np.savez("stored", x=x, y=y)
last = x.transpose(0, 2, 3, 1) # channels
np.savez_compressed("parts", x_train=last, y_train=y, x_test=last[:4], y_test=y[:4])'
for data in npy:folder.x,folder.y stored.npz parts.npz; do
    run_for 0 train "$data?split=0.1" --model logistic --until epochs=2 --threads 1 --strategy sequential --json
    sed -n 's/^  "loss": //p' out.txt >>losses.txt
done
[ "$(wc -l <losses.txt)" = 3 ] && [ "$(sort -u losses.txt | wc -l)" = 1 ] ||
    fail "the same bytes gave different losses: $(cat losses.txt)"

# a state whose scaling the data do not have by themselves cannot go on
run_for 0 train npy:folder.x,folder.y --model logistic --until epochs=1 --out old
run_for 0 train --resume old --until epochs=2
PYTHONPATH=$DROVE_SOURCE_DIR/tests/cli PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import json, os, seal, struct
with open("old/state.safetensors", "rb") as f:
    n = struct.unpack("<Q", f.read(8))[0]
    header, body = json.loads(f.read(n)), f.read()
header["__metadata__"]["scale"] = "none"
with open("old/state.safetensors", "wb") as f:
    f.write(seal.whole(header, body))
os.remove("old/state.previous.safetensors")
END
wrong 'scale=none where this version takes unit' train --resume old --until epochs=3

run_for 0 data info parts.npz --part test
grep -q '^rows      4$' out.txt

# a model of images: predictions name the files, whatever their size
run_for 0 train 'd/?size=16&channels=3' --test split --model mlp:8 --until epochs=2 --out run
mkdir new
cp d/train/cat/b.jpg 'new/one, two.jpg'
cp d/val/dog/y.jpg new/
run_for 0 predict run/model.safetensors --data new
[ "$(sed -n 1p out.txt)" = file,label,p_cat,p_dog ] || fail "header: $(sed -n 1p out.txt)"
grep -q '^"new/one, two.jpg",[cd]' out.txt || fail "$(cat out.txt)"
grep -q '^new/y.jpg,[cd]' out.txt || fail "$(cat out.txt)"
run_for 0 predict run/model.safetensors --data 'pax-{00..01}.tar'
[ "$(wc -l <out.txt)" = 20 ] || fail "$(cat out.txt)"
run_for 0 eval run/model.safetensors --data 'images:d?part=test' --json

printf 'no image' >new/broken.png
wrong 'new/broken.png' predict run/model.safetensors --data new
run_for 0 predict run/model.safetensors --data 'new?skip=1'
[ "$(wc -l <out.txt)" = 3 ] || fail "$(cat out.txt)"
grep -q 'skipped 1 of 3 images' err.txt || fail "$(cat err.txt)"
wrong 'without classes' train --data new
echo "images, archives and NumPy's files agree with Pillow and NumPy"
