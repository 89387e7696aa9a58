# drove dmgc: signatures in words, predictions worked out by hand, refusals in one line.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
replay "$expected/dmgc.txt"

# SIGNATURE: what stands first in the answer is the signature itself.
for signature in D8M8 'D64f[i64]M64fG64fC64fs' i1 G1C1s D3M5 C1; do
    run_for 0 dmgc "$signature"
    [ "$(sed -n '1s/^signature *//p' out.txt)" = "$signature" ] || fail "$signature: $(head -n 1 out.txt)"
done

# All rows of Table 2, dense and sparse: with one thread the prediction is the table's figure.
n_rows=0
while read -r signature dense sparse; do
    run_for 0 dmgc "$signature"
    grep -q "^prediction *$dense GNPS, dense" out.txt || fail "$signature, dense: $(cat out.txt)"
    run_for 0 dmgc "$signature" --sparse 3%
    grep -q "^prediction *$sparse GNPS, sparse" out.txt || fail "$signature, sparse: $(cat out.txt)"
    n_rows=$((n_rows + 1))
done <<'END'
D32f[i32]M8 0.203 0.103
D32f[i32]M16 0.208 0.08
D32f[i32]M32f 0.936 0.101
D8[i8]M32f 0.999 0.089
D16[i16]M32f 1.183 0.089
D16[i16]M16 1.739 0.106
D8[i8]M16 2.238 0.105
D16[i16]M8 2.526 0.172
D8[i8]M8 3.339 0.166
END
[ "$n_rows" = 9 ] || fail "expected 9 rows, found $n_rows"
