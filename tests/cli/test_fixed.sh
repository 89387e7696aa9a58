# --precision D8M8 and others of networks: by one and several workers, by strategies that exchange, saved, resumed and used;
# any number of bits; what does not go together is refused.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
data='synth:digits?n=2000&n_test=500'
small="--data $data --model mlp:32 --threads 1 --strategy sequential --batch 16 --lr 0.1"
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
# NAME PRECISION ARGUMENT...: trains; the summary is NAME.json.
trained() {
    local name=$1 precision=$2
    shift 2
    # shellcheck disable=SC2086
    run_for 0 train $small --until epochs=2 --precision "$precision" --out "$name" --json "$@"
    mv out.txt "$name.json"
    [ "$(value "$name.json" precision)" = "$precision" ] || fail "$name: $(value "$name.json" precision)"
}

# Floats by the engine of words are the bits of floats; fewer bits are a little worse, and too few much.
# shellcheck disable=SC2086
run_for 0 train $small --until epochs=2 --out float --json && mv out.txt float.json
trained words D32fM32f
trained wide D16M16
trained narrow D8M8
trained biased D8M8 --rounding nearest
trained few 'D3M4?simulated=yes'
python3 - <<'END' || fail "not as good as the number of bits says"
import json
loss = {name: json.load(open(name + ".json"))["loss"] for name in ("float", "words", "wide", "narrow", "biased", "few")}
print(loss)
assert loss["words"] == loss["float"]
assert 0 < abs(loss["wide"] - loss["float"]) < 0.02 * loss["float"]
assert abs(loss["narrow"] - loss["float"]) < 0.25 * loss["float"]
assert loss["few"] > 1.3 * loss["narrow"]
END
# Without --lr the rule is that of floats, its step size is found by trials, and falls: the classic one has learnt
# little by then.
untold="--data synth:digits?n=24000&n_test=1000 --model mlp:32 --threads 1 --until epochs=2 --precision D8M8 --json"
# shellcheck disable=SC2086
{
    run_for 0 train --defaults auto $untold --out found && mv out.txt found.json
    run_for 0 train $untold --defaults classic --out classic && mv out.txt classic.json
    run_for 0 train --defaults auto $untold --schedule constant --lr 0.1 --out given && mv out.txt given.json
}
python3 - <<'END' || fail "the step size of a run that is told none"
import json
found, classic, given = (json.load(open(name + ".json")) for name in ("found", "classic", "given"))
print(found["lr"], found["test_accuracy"], classic["test_accuracy"], len(found["tuning"]["trials"]))
assert found["rule"] == "adam" and found["lr"] < 0.02 and len(found["tuning"]["trials"]) == 6
assert classic["rule"] == given["rule"] == "sgd"
assert classic["lr"] == 0.01 and classic["tuning"] is None and given["tuning"] is None
assert found["test_accuracy"] > classic["test_accuracy"] + 0.1
assert json.load(open("found/run.json"))["options"]["schedule"] == "cosine:2"
assert json.load(open("classic/run.json"))["options"]["schedule"] == "constant"
END

# Too few updates for trials: the step size of plain SGD is not the rule's default, and is not called so.  Nothing
# follows the validation loss.
few="--defaults auto --data synth:digits?n=1000&n_test=100 --model mlp:16 --threads 1 --precision D8M8"
# shellcheck disable=SC2086
run_for 0 train $few --until epochs=1 --out brief-adam
grep -q "^drove: chosen: --rule adam .* --lr 0.001 (the rule's default: too few updates for trials)$" err.txt ||
    fail "few updates: $(cat err.txt)"
# shellcheck disable=SC2086
run_for 0 train $few --rule sgd --until epochs=1,validation=100 --out brief
grep -q '^drove: chosen: --rule sgd .* --lr 0.03 (too few updates for trials)$' err.txt || fail "few updates: $(cat err.txt)"
grep -q '^  validation  loss [0-9.]* of 100 examples$' out.txt || fail "validation examples: $(cat out.txt)"

grep -q '"rounding": "shared"' narrow.json || fail "$(grep rounding narrow.json)"

# Its file holds floats, and is used as any other: the run's loss again.
run_for 0 eval narrow --data "$data" --json
python3 -c 'import json; run, use = json.load(open("narrow.json")), json.load(open("out.txt"))
assert abs(run["loss"] - use["loss"]) < 1e-6, (run["loss"], use["loss"])' || fail "drove eval: another loss"

# Interrupted and resumed: the same bits; in other numbers: refused.
# shellcheck disable=SC2086
{
    run_for 0 train $small --until epochs=1 --precision D8M8 --out half
    run_for 0 train --resume half --until epochs=2
}
cmp half/model.safetensors narrow/model.safetensors || fail "a resumed run has other bits"
wrong 'precision' train --resume half --until epochs=3 --precision D16M16
wrong 'precision' train --resume half --until epochs=3 --precision 'D8M8?scales=channel'

# A unit for each channel: another run, that resumes, and whose file is used, as any other's.
trained channels 'D8M8?scales=channel'
cmp -s channels/model.safetensors narrow/model.safetensors && fail "units by channel are those by layer"
python3 -c 'import json; c, f = json.load(open("channels.json")), json.load(open("float.json"))
assert abs(c["loss"] - f["loss"]) < 0.25 * f["loss"], (c["loss"], f["loss"])' || fail "units by channel: a bad loss"
# shellcheck disable=SC2086
{
    run_for 0 train $small --until epochs=1 --precision 'D8M8?scales=channel' --out half-channels
    run_for 0 train --resume half-channels --until epochs=2
}
cmp half-channels/model.safetensors channels/model.safetensors || fail "a resumed run by channel has other bits"
run_for 0 eval channels --data "$data" --json
python3 -c 'import json; run, use = json.load(open("channels.json")), json.load(open("out.txt"))
assert abs(run["loss"] - use["loss"]) < 1e-6, (run["loss"], use["loss"])' || fail "drove eval by channel: another loss"
run_for 0 train --data "$data" --model mlp:32 --strategy hogwild --threads 2 --batch 8 --lr 0.1 --until epochs=2 \
    --precision 'D6M6?simulated=yes&scales=channel' --json
python3 -c 'import json; s = json.load(open("out.txt"))
assert s["loss"] < 0.75 * s["loss_initial"], (s["loss"], s["loss_initial"])' || fail "hogwild by channel does not learn"

# Several workers on the same words, and workers that exchange them.
for strategy in hogwild replicas easgd-sync3 local; do
    run_for 0 train --data "$data" --model mlp:32 --strategy $strategy --threads 2 --batch 8 --lr 0.1 --until epochs=2 \
        --precision D8M8 --json
    python3 -c 'import json; s = json.load(open("out.txt"))
assert s["loss"] < 0.75 * s["loss_initial"], (s["loss"], s["loss_initial"])' || fail "$strategy does not learn"
done
# Fewer bits in exchanges: other numbers, and it learns.
for precision in D8M8 D8M8C8s; do
    run_for 0 train --data "$data" --model mlp:32 --strategy easgd-sync3 --threads 2 --batch 8 --lr 0.1 --period 2 --seed 2 \
        --until epochs=2 --precision $precision --json
    python3 -c 'import json; s = json.load(open("out.txt"))
assert s["loss"] < 0.75 * s["loss_initial"], (s["loss"], s["loss_initial"])' || fail "$precision does not learn"
    value out.txt loss >"loss_$precision"
done
cmp -s loss_D8M8 loss_D8M8C8s && fail 'D8M8C8s sends floats'
wrong 'sends parameters as they are' train --data "$data" --model mlp:8 --strategy easgd-sync1 --threads 2 --precision D8M8C8s
run_for 0 train --data "$data" --model lenet --threads 1 --batch 16 --until updates=10 --precision D8M16 --json
run_for 0 train --data 'synth:logistic?n=500&d=8' --model logistic --threads 1 --until epochs=2 --json \
    --precision 'D6M6?simulated=yes'
[ "$(value out.txt precision)" = 'D6M6?simulated=yes' ] || fail "$(value out.txt precision)"

wrong 'expected D8, D16 or D32f' train --data "$data" --model mlp:8 --precision D6M6
wrong 'D2 to D16 with ?simulated=yes' train --data "$data" --model mlp:8 --precision 'D17M8?simulated=yes'
wrong 'expected no or yes' train --data "$data" --model mlp:8 --precision 'D6M6?simulated=1'
wrong 'expected no C term beside a key' train --data "$data" --model mlp:8 --precision 'D8M8C8s?simulated=yes'
wrong 'expected layer or channel' train --data "$data" --model mlp:8 --precision 'D8M8?scales=2'
wrong 'expected an M term' train --data "$data" --model mlp:8 --precision 'D8M32f?scales=channel'
wrong 'expected dense data' train --data 'synth:logistic?n=100&d=50&density=0.1' --model mlp:8 --precision D8M8
cat >net.yaml <<'END'
layers:
  - {name: d, type: dense, units: 8}
  - {name: n, type: batch_norm, activation: relu}
  - {name: e, type: dense}
END
wrong 'without batch normalisation' train --data "$data" --model net.yaml --precision D8M8

# One dense layer is a linear model only if it has biases and no activation: else its numbers are a network's.
for layer in 'bias: false' 'activation: tanh'; do
    printf 'name: one\nlayers:\n  - {name: a, type: dense, %s}\n' "$layer" >one.yaml
    run_for 0 train --data "$data" --model ./one.yaml --threads 1 --until epochs=1 --precision D8M8 --out one --json
    run_for 0 eval one/model.safetensors --data "$data"
    rm -r one
done

# A layer's own step size holds for weights that are written while their gradient is in the cache.
cat >slow.yaml <<'END'
layers:
  - {name: a, type: dense, units: 16, activation: relu, weight_lr: 0.000001, bias_lr: 0.000001}
  - {name: b, type: dense, weight_lr: 0.000001, bias_lr: 0.000001}
END
for precision in none D8M8 D16M16; do
    run_for 0 train --data 'synth:logistic?n=512&d=16' --test none --model ./slow.yaml --defaults classic --threads 1 --batch 8 --lr 0.1 \
        --rule sgd --until epochs=5 --precision $precision --json
    python3 -c 'import json; s = json.load(open("out.txt")); assert abs(s["loss"] - s["loss_initial"]) < 0.02, s["loss"]' ||
        fail "$precision: steps that are nearly 0 changed the loss"
done

# Products of integers give what those of floats give, whatever the processor has.
for act in relu tanh; do
    for isa in ref auto; do
        run_for 0 train --data "$data" --model mlp:16 --activation $act --defaults classic --threads 1 --strategy sequential --batch 16 \
            --until updates=60 --eval-every 10 --precision D8M8 --rounding nearest --isa $isa --out "bits-$act-$isa"
    done
    cmp "bits-$act-ref/model.safetensors" "bits-$act-auto/model.safetensors" || fail "D8M8 with $act: other bits by tier"
done
for isa in ref auto; do
    run_for 0 train --data "$data" --model mlp:16 --defaults classic --threads 1 --strategy sequential --batch 16 --until updates=60 \
        --eval-every 10 --precision 'D8M8?scales=channel' --rounding nearest --isa $isa --out "channels-$isa"
done
cmp channels-ref/model.safetensors channels-auto/model.safetensors || fail "units by channel: other bits by tier"
for range in 1e-38 1e-44 1e300; do
    wrong 'model-range' train --data "$data" --model mlp:64,64 --threads 1 --until updates=5 --precision D8M8 --model-range $range
done
