# drove export --c of networks: for every kind of layer and activation the source compiles as C11 without a warning, with
# sanitizers finds nothing, stays in its scratch memory, and predicts what drove predict does.
# ctest: timeout=900
# ctest: slow: trains, compiles and runs two dozen networks
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
take_day

# Scratch memory of exactly the stated size, full of NaNs.
cat >main.c <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef N_SCRATCH
void model_predict(const float *x, float *y, float *scratch);
#else
void model_predict(const float *x, float *y);
#endif
int main(void)
{
    float *x = malloc(N_IN * sizeof *x), *y = malloc(N_OUT * sizeof *y);
#ifdef N_SCRATCH
    float *scratch = malloc(N_SCRATCH * sizeof *scratch);
    for (size_t i = 0; i < N_SCRATCH; i++) scratch[i] = NAN;
#endif
    while (fread(x, sizeof *x, N_IN, stdin) == N_IN) {
#ifdef N_SCRATCH
        model_predict(x, y, scratch);
#else
        model_predict(x, y);
#endif
        fwrite(y, sizeof *y, N_OUT, stdout);
    }
#ifdef N_SCRATCH
    free(scratch);
#endif
    free(x);
    free(y);
    return 0;
}
END
checked="-std=c11 -Wall -Wextra -Werror -pedantic -Wdouble-promotion -Wshadow"
sanitized="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
echo 'int main(void) { return 0; }' >try.c
# shellcheck disable=SC2086
"$DROVE_CC" $sanitized try.c -o try 2>cc.txt && LD_PRELOAD='' ./try || { echo "without sanitizers: $(head -n 1 cc.txt)"; sanitized=-O1; }

# The model in the folder `out` predicts for examples.npy, of the data $1, what drove predict does.
compare() {
    local sizes
    run_for 0 predict out "$1" --out expected.npy
    run_for 0 export out --c model.c
    sizes=$(sed -En 's/^void model_predict\(const float x\[([0-9]+)\], float y\[([0-9]+)\](, float scratch\[([0-9]+)\])?\);.*/-DN_IN=\1 -DN_OUT=\2 -DN_SCRATCH=\4/p' out.txt)
    [ -n "$sizes" ] || fail "$name: expected the function's sizes: $(cat out.txt)"
    sizes=${sizes% -DN_SCRATCH=}
    # shellcheck disable=SC2086
    "$DROVE_CC" $checked $sanitized $sizes main.c model.c -o model -lm 2>cc.txt || fail "$name: the source does not compile: $(cat cc.txt)"
    python3 "$DROVE_SOURCE_DIR/tests/cli/c_inputs.py" model.c examples.npy >in.bin
    LD_PRELOAD='' ./model <in.bin >found.bin || fail "$name: the compiled source fails"
    python3 "$DROVE_SOURCE_DIR/tests/cli/c_compare.py" expected.npy found.bin >compare.txt ||
        fail "$name: other predictions than drove predict: $(cat compare.txt)"
    echo "$name: $(cat compare.txt)"
}

# NAME DATA ARGUMENT...: trains on the data, whose examples are in examples.npy.
same() {
    local data=$2
    name=$1
    shift 2
    rm -rf out
    run_for 0 train "$data" --test none --threads 1 --strategy sequential --init he --out out --quiet "$@"
    compare "$data"
}
images() { # NAME SPEC ARGUMENT...
    local name=$1 spec=$2
    shift 2
    rm -f examples.npy targets.npy
    run_for 0 data convert "${spec%%&crop*}" npy:examples.npy,targets.npy
    same "$name" "$spec" "$@"
}

# ---- networks that people use ----

few='--lr 0.001 --until updates=3 --loss squared'
colour='synth:images?n=24&classes=5' grey='synth:digits?n=24'
cat >inception.yaml <<'END'
layers:
  - {name: stem, type: convolution, channels: 8, kernel: 5, stride: 2, pad: 2, activation: relu}
  - {name: pool, type: max_pool, kernel: 3, stride: 2, rounds_up: true}
  - {name: one, type: convolution, inputs: pool, channels: 6, activation: relu}
  - {name: reduce3, type: convolution, inputs: pool, channels: 4, activation: relu}
  - {name: three, type: convolution, channels: 8, kernel: 3, pad: 1, activation: relu}
  - {name: reduce5, type: convolution, inputs: pool, channels: 2, activation: relu}
  - {name: five, type: convolution, channels: 4, kernel: 5, pad: 2, activation: relu}
  - {name: side, type: max_pool, inputs: pool, kernel: 3, pad: 1}
  - {name: projection, type: convolution, channels: 4, activation: relu}
  - {name: join, type: concat, inputs: [one, three, five, projection]}
  - {name: mean, type: average_pool, global: true}
  - {name: drop, type: dropout, ratio: 0.4}
  - {name: out, type: dense}
END
cat >residual.yaml <<'END'
layers:
  - {name: conv0, type: convolution, channels: 12, kernel: 3, pad: 1, bias: false}
  - {name: norm0, type: batch_norm, activation: relu}
  - {name: conv1, type: convolution, channels: 12, kernel: 3, pad: 1, bias: false}
  - {name: norm1, type: batch_norm, activation: relu}
  - {name: conv2, type: convolution, channels: 12, kernel: 3, pad: 1, bias: false}
  - {name: norm2, type: batch_norm}
  - {name: add1, type: sum, inputs: [norm2, norm0], activation: relu}
  - {name: conv3, type: convolution, channels: 20, kernel: 3, stride: 2, pad: 1}
  - {name: norm3, type: batch_norm}
  - {name: shortcut, type: convolution, inputs: add1, channels: 20, stride: 2}
  - {name: add2, type: sum, inputs: [norm3, shortcut, conv3], coefficients: [1, 0.5, 0.25]}
  - {name: norm4, type: batch_norm, activation: relu}
  - {name: mean, type: average_pool, global: true}
  - {name: hidden, type: dense, units: 16, bias: false}
  - {name: norm5, type: batch_norm, activation: tanh}
  - {name: out, type: dense}
END
cat >mobile.yaml <<'END'
layers:
  - {name: stem, type: convolution, channels: 8, kernel: 3, stride: 2, pad: 1, bias: false}
  - {name: stem.norm, type: batch_norm}
  - {name: stem.act, type: activation, activation: hard_swish}
  - {name: expand, type: convolution, channels: 24, bias: false}
  - {name: expand.norm, type: batch_norm}
  - {name: expand.act, type: activation, activation: hard_swish}
  - {name: depth, type: convolution, channels: 24, groups: 24, kernel: 5, pad: 2, bias: false}
  - {name: depth.norm, type: batch_norm}
  - {name: depth.act, type: activation, activation: hard_swish}
  - {name: squeeze, type: average_pool, global: true}
  - {name: reduce, type: convolution, channels: 6, activation: relu}
  - {name: excite, type: convolution, channels: 24, activation: hard_sigmoid}
  - {name: gate, type: product, inputs: [depth.act, excite]}
  - {name: project, type: convolution, channels: 8, bias: false}
  - {name: project.norm, type: batch_norm}
  - {name: add, type: sum, inputs: [project.norm, stem.act]}
  - {name: mean, type: average_pool, global: true}
  - {name: out, type: dense}
END
cat >alex.yaml <<'END'
layers:
  - {name: conv1, type: convolution, channels: 12, kernel: 7, stride: 2, activation: relu}
  - {name: norm1, type: lrn, size: 5, alpha: 0.5, beta: 0.75}
  - {name: pool1, type: max_pool, kernel: 3, stride: 2}
  - {name: conv2, type: convolution, channels: 16, kernel: 5, pad: 2, groups: 2, activation: relu}
  - {name: norm2, type: lrn, size: 3, alpha: 0.2, beta: 0.6, kappa: 2}
  - {name: pool2, type: max_pool, kernel: 3, stride: 2}
  - {name: fc6, type: dense, units: 24, activation: relu}
  - {name: drop6, type: dropout}
  - {name: out, type: dense}
END
cat >odd.yaml <<'END'
layers:
  - {name: norm0, type: batch_norm}
  - {name: wide, type: convolution, channels: 6, kernel: [2, 5], stride: [3, 2], pad: [1, 3], activation: tanh}
  - {name: dilated, type: convolution, channels: 9, groups: 3, kernel: 3, pad: 2, dilation: 2, activation: sigmoid}
  - {name: mean, type: average_pool, kernel: [3, 2], stride: [2, 3], pad: [1, 0], rounds_up: true}
  - {name: pixels, type: dense, units: 7, inputs: data}
  - {name: vector, type: flatten, inputs: mean}
  - {name: both, type: concat, inputs: [vector, pixels]}
  - {name: out, type: dense}
END
cat >norms.yaml <<'END'
layers:
  - {name: conv1, type: convolution, channels: 8, kernel: 3, stride: 2, pad: [0, 0, 1, 1]}
  - {name: norm1, type: layer_norm, over_height: false, over_width: false, activation: relu}
  - {name: conv2, type: convolution, channels: 6, kernel: [2, 4], pad: [1, 2, 0, 1]}
  - {name: prelu2, type: prelu}
  - {name: mean, type: average_pool, kernel: 3, stride: 1, pad: 1, counts_pad: false}
  - {name: norm2, type: layer_norm}
  - {name: counted, type: average_pool, kernel: 3, stride: 2, pad: [0, 1, 2, 0]}
  - {name: prelu3, type: prelu, slopes: 1}
  - {name: most, type: max_pool, inputs: norm2, kernel: 3, stride: 2, pad: [0, 1, 2, 0]}
  - {name: norm3, type: layer_norm, over_channels: false}
  - {name: both, type: concat, inputs: [prelu3, norm3]}
  - {name: norm4, type: layer_norm, over_height: false, activation: tanh}
  - {name: squeeze, type: average_pool, global: true}
  - {name: reduce, type: convolution, channels: 3, activation: relu}
  - {name: excite, type: convolution, channels: 12, activation: hard_sigmoid}
  - {name: gate, type: product, inputs: [norm4, excite]}
  - {name: turned, type: reshape, channels: 3, height: 8, width: 8, channels_last: true}
  - {name: conv5, type: convolution, channels: 4, kernel: [1, 3], pad: [0, 2, 0, 0]}
  - {name: hidden, type: dense, units: 9}
  - {name: norm6, type: layer_norm}
  - {name: prelu6, type: prelu}
  - {name: out, type: dense}
END
# A normalisation that only the auxiliary head has is not in the weights below it.
cat >auxiliary.yaml <<'END'
layers:
  - {name: conv1, type: convolution, channels: 6, kernel: 3}
  - {name: side.norm, type: batch_norm, inputs: conv1, activation: relu}
  - {name: side, type: dense}
  - {name: sigmoid, type: activation, inputs: conv1, activation: sigmoid}
  - {name: pool, type: max_pool, kernel: 2, stride: 2}
  - {name: out, type: dense}
heads:
  - {input: side, weight: 0.3}
  - {input: out}
END
# shellcheck disable=SC2086
{
    images auxiliary "$colour&size=12" --model auxiliary.yaml $few
    images norms "$colour&size=17&scale=standard" --model norms.yaml $few
    images inception "$colour&size=33" --model inception.yaml $few
    images residual "$colour&size=19x22" --model residual.yaml $few
    images mobile "$colour&size=21" --model mobile.yaml $few
    images alex "$colour&size=35&scale=unit-mean" --model alex.yaml $few
    images odd "$colour&size=17x23&scale=standard" --model odd.yaml $few
    images crop "$colour&size=20&crop=12x17&pad=2&mirror=1&scale=unit-mean-channel" --model residual.yaml $few
    images pixels "$colour&size=12&crop=9x10" --model mlp:6,5 $few
    images lenet "$grey" --model lenet --lr 0.01 --until epochs=1
    images grey "$grey" --model inception.yaml $few
    images mlp "$grey" --model mlp:9,8 --activation gelu $few
}

# ---- more channels than the source has one scaling each for ----

PYTHONPATH=$DROVE_SOURCE_DIR/tests/cli PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import random
from random_graphs import write_npy
n, channels, draw = 24, 1100, random.Random(3)
write_npy("examples.npy", "<f4", "f", (n, channels, 2, 2), [draw.gauss(k % 7, 1) for _ in range(n) for k in range(channels) for _ in range(4)])
write_npy("y.npy", "<i4", "i", (n,), [i % 5 for i in range(n)])
END
# shellcheck disable=SC2086
same channels 'npy:examples.npy,y.npy?scale=mean-channel' --model mlp:8 $few

# ---- every activation; random networks, other ones each day ----

for seed in activations 1 2 3 4 5 6 7 8 $((DROVE_TEST_DAY * 10)) $((DROVE_TEST_DAY * 10 + 1)); do
    python3 "$DROVE_SOURCE_DIR/tests/cli/random_graphs.py" "$seed"
    cp images.npy examples.npy
    # shellcheck disable=SC2086
    same "$seed" npy:images.npy,y.npy --model graph.yaml $few
    if [ "$seed" = activations ]; then
        for act in $("$DROVE" list activations | awk '{ print $1 }'); do
            grep -q " = act_$act(" model.c || fail "activation $act is not in the network"
        done
    fi
done
echo "networks as drove predict"
