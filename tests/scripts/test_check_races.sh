# The checker of races accepts the tree as it is, and reports each planted violation, with its file.
set -eu
check=$DROVE_SOURCE_DIR/scripts/check-races
"$check" "$DROVE_SOURCE_DIR"

mkdir -p tree/src/sync tree/src/kernel tree/docs/inside tree/tests
cat >tree/docs/inside/memory-model.md <<'END'
| R1 | a race | R1 of others | here |
**A1. A word.** Text.
## Where threads meet
| file | weakly ordered words | argument |
|---|---|---|
| `src/sync/known.c` | `count` | A1 |
## End
END
cat >tree/src/sync/known.c <<'END'
static _Atomic int count; /* R1 */
int f(void) { return atomic_load_explicit(&s->count, memory_order_relaxed); }
END
"$check" tree

n_planted=0
plant() { # FILE TEXT EXPECTED-TEXT
    cp -r tree planted
    printf '%s\n' "$2" >>"planted/$1"
    if "$check" planted >report.txt; then
        echo "not reported: $2 in $1"
        exit 1
    fi
    if ! grep -qF "$3" report.txt; then
        echo "wrong report for: $2 in $1"
        cat report.txt
        exit 1
    fi
    rm -r planted
    n_planted=$((n_planted + 1))
}
plant src/sync/new.c 'static _Atomic int x;' 'src/sync/new.c:1: it shares data'
plant src/sync/new.c 'pthread_mutex_lock(&m);' 'src/sync/new.c:1: it shares data'
plant src/sync/known.c 'atomic_store_explicit(&p->other[i], 1, memory_order_release);' \
    'known.c:3: weakly ordered access to `other`'
plant src/sync/known.c 'atomic_fetch_add_explicit(
    &p->other, 1, memory_order_acq_rel);' 'known.c:3: weakly ordered access to `other`'
plant src/sync/racy.c 'float x = drove__racy_load(p);' 'racy.c:1: a racy access without a number'
plant src/sync/known.c '/* race R2 */' 'R2 has no text'
plant src/sync/known.c '/* docs/inside/memory-model.md, A2 */' 'A2 has no text'
plant docs/inside/memory-model.md '## Where threads meet
| `src/sync/gone.c` | `x` | A1 |' 'src/sync/gone.c does not exist'
plant docs/inside/memory-model.md '## Where threads meet
| `src/sync/known.c` | | A7 |' 'A7 has no text'
plant src/kernel/quiet.c '__attribute__((no_sanitize("thread"))) void f(void);' 'a suppression without'
plant tests/tsan.supp 'race:drove__sync_create' 'a suppression without'
plant tests/run.sh 'TSAN_OPTIONS=suppressions=x program' 'a suppression without'
"$check" tree
echo "$n_planted planted violations reported"
[ "$("$check" --words tree)" = 'src/sync/known.c: count' ]
if "$check" planted-nowhere 2>error.txt; then echo "no tree was accepted"; exit 1; fi
grep -qF 'expected a source tree' error.txt
