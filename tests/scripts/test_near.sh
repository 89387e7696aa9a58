# What scripts/test --near chooses for a changed file, with stand-ins for cmake, ninja and ctest that only say what they
# are asked for.
set -eu
command -v git >/dev/null || { echo "skip: no git"; exit 77; }
mkdir -p bin tree/src/sync tree/src/engine tree/src/bench tree/src/study tree/include/drove tree/cli tree/tests/unit/data tree/scripts tree/debian
for tool in cmake ctest; do
    printf '#!/bin/sh\necho "%s $*" >>"$LOG"\n' "$tool" >bin/$tool
done
cat >bin/ninja <<'END'
#!/bin/sh
for kind in stress system kernel unit_promises unit_sync unit_plan unit_loop unit_run unit_engine unit_data unit_bench; do echo "drove_${kind}_tests: phony"; done
END
printf '#!/bin/sh\n' >bin/clang-format
chmod +x bin/*
export PATH=$PWD/bin:$PATH LOG=$PWD/log.txt GIT_AUTHOR_NAME=t GIT_COMMITTER_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_EMAIL=t
cp "$DROVE_SOURCE_DIR"/scripts/{test,check-layers} tree/scripts/
printf '#!/bin/sh\nexit 0\n' | tee tree/scripts/check-{format,races,claims} >tree/scripts/check-docs
chmod +x tree/scripts/*
cd tree
echo build >.gitignore
for file in src/sync/a.c src/engine/a.c src/bench/a.c src/study/a.c include/drove/a.h cli/a.c tests/unit/data/a.c debian/control README.md; do
    echo '/* first */' >$file
done
git init -q -b main . && git add -A && git commit -qm first

# FILE LABELS TARGETS...: expected for a change in FILE.
chosen() {
    local file=$1 labels=$2 targets=$3
    rm -f "$LOG"
    echo '/* second */' >>"$file"
    scripts/test --near "${4-}" >../out.txt 2>&1 || true
    grep -qF -- "-L ^($labels)\$ " "$LOG" || { echo "$file: expected the labels $labels"; cat "$LOG" ../out.txt; exit 1; }
    grep -qF -- "--target $targets -- " "$LOG" || { echo "$file: expected the targets $targets"; cat "$LOG"; exit 1; }
    git checkout -q -- "$file"
}
above='unit/auto|unit/config|unit/files|unit/problem|unit/promises|unit/run|unit/sync|unit/train|unit/values'
chosen src/sync/a.c "stress|system|$above" \
    'drove_stress_tests drove_system_tests drove_unit_promises_tests drove_unit_run_tests drove_unit_sync_tests' main
chosen src/engine/a.c \
    'system|unit/auto|unit/config|unit/engine|unit/export|unit/files|unit/loop|unit/pack|unit/plan|unit/problem|unit/run|unit/train|unit/use|unit/values' \
    'drove_system_tests drove_unit_engine_tests drove_unit_loop_tests drove_unit_plan_tests drove_unit_run_tests' main
chosen src/bench/a.c 'cli|unit/bench' 'drove_install_set drove_no_sync drove_unit_bench_tests' main
chosen src/study/a.c 'cli|hostile|unit/study' 'drove_install_set drove_no_sync' main
chosen cli/a.c 'cli|hostile' 'drove_install_set drove_no_sync' main
chosen debian/control scripts all main
chosen tests/unit/data/a.c unit/data drove_unit_data_tests main

# Commits since the revision count; without one, those since main.
git checkout -q -b mine
echo '/* second */' >>src/sync/a.c
git commit -qam second
chosen tests/unit/data/a.c "stress|system|${above/unit\/files/unit/data|unit/files}" \
    'drove_stress_tests drove_system_tests drove_unit_data_tests drove_unit_promises_tests drove_unit_run_tests drove_unit_sync_tests'
chosen tests/unit/data/a.c unit/data drove_unit_data_tests HEAD

# A test is left out that took long, at its last run here or, if there was none, at somebody's.
mkdir -p build/release/Testing/Temporary tests/costs
printf '%s\n' 'test_slow 1 3.1' 'test_mended 4 0.2' --- test_failed >build/release/Testing/Temporary/CTestCostData.txt
printf '%s\n' 'test_mended 1 60' 'test_far 1 9' >tests/costs/asan.txt
chosen tests/unit/data/a.c unit/data drove_unit_data_tests HEAD
grep -qF -- ' -E ^(test_far|test_slow)$' "$LOG" || { echo "expected test_far and test_slow left out"; cat "$LOG"; exit 1; }
rm -r build tests/costs

rm -f "$LOG"
scripts/test --near HEAD >../out.txt 2>&1
grep -q '^nothing has changed since HEAD' ../out.txt || { cat ../out.txt; exit 1; }
[ ! -e "$LOG" ] || { echo "nothing has changed, but asked for:"; cat "$LOG"; exit 1; }
