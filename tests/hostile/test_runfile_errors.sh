# Mistakes in run files: file, line and column.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
printf 'lr: 0.1\nlrr: 0.2\n' >unknown.yaml
printf 'data: synth:digits\nbatch: many\n' >value.yaml
printf 'lr: 0.1\nbatch: 32\nlr: 0.2\n' >twice.yaml
printf 'lr: [0.1, 0.2]\n' >list.yaml
printf -- '- lr\n' >no_mapping.yaml
printf 'lr: 0.1\n---\nlr: 0.2\n' >two.yaml
printf 'strategy: hogwld\n' >strategy.yaml
printf 'lr: 0.1\n\000' >nul.yaml
printf 'lr: 0.1\nmodel: mlp:8,x\n' >nested.yaml
printf 'threads: 1\nlabel: y\n' >together.yaml
replay "$expected/runfile_errors.txt"

# Flags override the file, wherever they stand.
cat >good.yaml <<'END'
# a run file
data: synth:digits?n=400&n_test=100
model: mlp:16
lr: 0.5
batch: 7
threads: 1
until: updates=3
END
run_for 0 train --batch 5 good.yaml --json --quiet
grep -q '"batch": 5' out.txt || fail "--batch before the file was lost"
grep -q '"lr": 0.5' out.txt || fail "lr of the file was lost"
run_for 0 train good.yaml --lr=0.25 --lr 0.125 --json --quiet
grep -q '"lr": 0.125' out.txt || fail "the last --lr should win"
