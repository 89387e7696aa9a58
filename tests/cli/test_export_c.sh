# drove export --c: the source compiles without a warning and gives the bits of drove predict --isa ref; what it cannot
# have is refused.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
# Where the processor multiplies and adds at once, so may the compiler.
fused=
grep -qsw fma /proc/cpuinfo && fused=" -mfma"

cat >main.c <<'END'
#include <stdio.h>
void model_predict(const IN *x, OUT *y);
int main(void)
{
    IN x[N_IN];
    OUT y[N_OUT];
    while (fread(x, sizeof x, 1, stdin) == 1) {
        model_predict(x, y);
        for (int i = 0; i < N_OUT; i++) {
            const NPY value = y[i];
            fwrite(&value, sizeof value, 1, stdout);
        }
    }
    return 0;
}
END

# NAME TRAINING EXAMPLES ARGUMENT...: EXAMPLES as in test_export_onnx.sh.
same() {
    local name=$1 training=$2 examples=$3 data=$3 sizes
    shift 3
    case $examples in *.npy) data=$training ;; esac
    run_for 0 train "$training" --test none --threads 1 --strategy sequential --out "$name" --quiet "$@"
    run_for 0 predict "$name" "$data" --isa ref --out expected.npy
    run_for 0 export "$name" --c model.c
    sizes=$(sed -n 's/^void model_predict(const \([a-z]*\) x\[\([0-9]*\)\], \([a-z]*\) y\[\([0-9]*\)\]);.*/-DIN=\1 -DN_IN=\2 -DOUT=\3 -DN_OUT=\4/p' out.txt)
    [ -n "$sizes" ] || fail "$name: expected the function's sizes: $(cat out.txt)"
    if grep -aq "'<f8'" expected.npy; then sizes="$sizes -DNPY=double"; else sizes="$sizes -DNPY=float"; fi
    python3 "$DROVE_SOURCE_DIR/tests/cli/c_inputs.py" model.c "$examples" >in.bin
    # shellcheck disable=SC2086
    for flags in -O0 "-O3$fused"; do
        "$DROVE_CC" -std=c99 -pedantic -Wall -Wextra -Wdouble-promotion -Werror $flags $sizes main.c model.c -o model -lm 2>cc.txt ||
            fail "$name: the source does not compile with $flags: $(cat cc.txt)"
        ./model <in.bin >found.bin
        tail -c "$(wc -c <found.bin)" expected.npy | cmp - found.bin || fail "$name, $flags: other bits than drove predict"
        [ "$(wc -c <found.bin)" -gt 1000 ] && [ "$(od -An -tx4 -v -w4 found.bin | sort -u | wc -l)" -gt 20 ] ||
            fail "$name: too few predictions prove nothing"
    done
    echo "$name: the same bits"
}

python3 "$DROVE_SOURCE_DIR/tests/cli/mixed_table.py"
few='--lr 0.05 --until epochs=3'
numbers() { # SPEC: numbers.npy holds its examples
    rm -f numbers.npy targets.npy
    run_for 0 data convert "$1" npy:numbers.npy,targets.npy
}
# shellcheck disable=SC2086
{
    same table 'mixed.csv?types=smokes:boolean' new.csv --label y --model mlp:70,8 --lr 0.001 --until epochs=3
    # Milliseconds since 1970, of which a float has none, and a target of about 1e9.
    awk 'BEGIN { srand(4); print "ms,k,y"; for (i = 0; i < 400; i++) { ms = int(100000 * rand()); k = rand()
        printf "%.0f,%.4f,%.3f\n", 1700000000000 + ms, k, 1000000000 + ms / 1000 + 5 * k } }' >far.csv
    same far far.csv far.csv --label y --model mlp:8 $few
    same robust 'far.csv?scale=robust' far.csv --label y --model mlp:8 $few
    grep -q 'const double \*x, double \*y' model.c || fail "expected doubles: $(head -n 8 model.c)"
    same bins 'mixed.csv?bins=16' new.csv --label zone --model mlp:9 --activation sigmoid $few
    awk 'BEGIN { srand(6); print "ms,month,tenth,y"; for (i = 0; i < 400; i++) { m = 1 + int(12 * rand()); k = int(9 * rand())
        printf "%.0f,%s,%.1f,%.3f\n", 1700000000000 + 7 * k, rand() < 0.1 ? "" : m, k / 10, rand() + (m == 4) + k % 2 } }' >both.csv
    same also 'both.csv?bins=3&also=ms+month+tenth' both.csv --label y --model mlp:9 $few
    same wide 'mixed.csv?onehot=2000&hash=65536&columns=age+born+zone+shop+label' new.csv --label label --model logistic $few
    numbers 'synth:logistic?n=300&d=150'
    same logistic 'synth:logistic?n=300&d=150' numbers.npy --model logistic $few
    same svm 'synth:logistic?n=300&d=150&scale=unit' numbers.npy --model svm $few
    same softmax 'synth:logistic?n=300&d=150' numbers.npy --model mlp:7,5 --loss softmax --activation tanh $few
    same squared 'synth:logistic?n=300&d=150&scale=none' numbers.npy --model mlp:7 --loss squared --lr 0.01 --until epochs=1
    numbers 'synth:digits?n=200'
    same digits 'synth:digits?n=200' numbers.npy --model mlp:20 $few
    awk 'BEGIN { srand(2); for (i = 0; i < 300; i++) { a = int(4 * rand()); printf "%d,%d", a, (a + 1) % 4
        for (f = 1; f <= 12; f++) if (f % 4 == a || rand() < 0.2) printf " %d:%.3f", f, 3 * rand(); print "" } }' >labels.svm
    sed 's/,[0-9]*//' labels.svm >one.svm
    numbers 'libsvm:one.svm?scale=standard'
    same sparse 'libsvm:one.svm?scale=standard' numbers.npy --model mlp:6 $few
    numbers 'libsvm:one.svm?scale=robust'
    same sparse_robust 'libsvm:one.svm?scale=robust' numbers.npy --model mlp:6 $few
    same labels 'libsvm:labels.svm' numbers.npy --model mlp:6 $few
    same linear 'libsvm:one.svm' numbers.npy --model svm $few
}

refused() { # TEXT DATA ARGUMENT...
    local text=$1 data=$2
    shift 2
    run_for 0 train "$data" --test none --threads 1 --strategy sequential --until updates=1 --lr 0.01 --out other --quiet "$@"
    wrong "$text" export other --c other.c
    [ ! -e other.c ] || fail "a refused model left a file"
    rm -r other
}
refused 'at most 8000000 parameters, found 11162010' 'synth:digits?n=20' --model mlp:4000,2000
refused 'C source has no feature maps, found rff' 'synth:logistic?n=20&d=3' --model logistic --features rff:8
refused 'C source has no columns of texts that are hashed, found hashed' 'mixed.csv?onehot=3' --label y --model linear
wrong 'expected --onnx FILE, --c FILE or --pytorch FILE, found none' export labels
wrong 'expected a file that is not read' export labels --c labels/model.safetensors
wrong 'expected two files' export labels --c a --onnx a
head -c 300 labels/model.safetensors >damaged.safetensors
wrong 'damaged.safetensors' export damaged.safetensors --c damaged.c
wrong 'damaged.safetensors' export damaged.safetensors --onnx damaged.onnx
[ ! -e damaged.c ] && [ ! -e damaged.onnx ] || fail "a damaged model left a file"
wrong 'none.safetensors' export none.safetensors --c none.c
wrong 'no/dir' export labels --c no/dir.c
echo "the same bits; the rest is refused"
