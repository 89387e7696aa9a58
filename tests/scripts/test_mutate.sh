# scripts/mutate: its operators, then a small project in which every outcome is known; with DROVE_TEST_LONG also what goes
# on where it was stopped, slow tests, and signals.
# ctest: timeout=600
set -eu
for tool in python3 git cmake ninja; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done
"$DROVE_SOURCE_DIR/scripts/mutate" --self-test

# The program's tests are those of its folder, and tests/kernel those of the kernels.
python3 - "$DROVE_SOURCE_DIR/scripts/mutate" <<'END_OF_FILE'
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("mutate", sys.argv[1])
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)
tree = mutate.Tree("none", 1)
for file, kind in ("src/kernel/any.c", "kernel"), ("cli/any.c", "cli"), ("src/sync/any.c", "unit/sync"):
    own, others = tree.kinds_for(file)
    assert kind in own and kind not in others and others, (file, own, others)
END_OF_FILE

mkdir -p tree/scripts tree/src/sync tree/tests/mutations
cp "$DROVE_SOURCE_DIR"/scripts/{mutate,test,check-layers} tree/scripts/
cp "$DROVE_SOURCE_DIR"/tests/mutations/{operators,schemata}.py tree/tests/mutations/
cd tree
export GIT_AUTHOR_NAME=t GIT_COMMITTER_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_EMAIL=t
echo build >.gitignore
cat >CMakeLists.txt <<'END_OF_FILE'
cmake_minimum_required(VERSION 3.25)
project(small C)
enable_testing()
add_subdirectory(src)
foreach(kind unit/sync stress)
  string(REPLACE "/" "_" name test_${kind})
  add_executable(${name} tests/${name}.c)
  target_link_libraries(${name} PRIVATE drove_sync)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  string(REPLACE "test_" "drove_" target ${name})
  add_custom_target(${target}_tests DEPENDS ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${kind}" SKIP_RETURN_CODE 77)
endforeach()
END_OF_FILE
echo 'add_library(drove_sync STATIC sync/a.c)' >src/CMakeLists.txt
cat >src/sync/a.c <<'END_OF_FILE'
int seen_near(int a, int b);
int seen_far(int a);
int unseen(int a, int b);
int seen_slowly(int a);

int seen_near(int a, int b)
{
    return a + b;
}

int seen_far(int a)
{
    return a < 7;
}

int unseen(int a, int b)
{
    return a - b;
}

int seen_slowly(int a)
{
    return a * 2;
}
END_OF_FILE
cat >tests/test_unit_sync.c <<'END_OF_FILE'
#include <stdio.h>
int seen_near(int, int);
int main(void) { fputs("ran\n", fopen("ran.txt", "a")); return seen_near(2, 3) != 5; }
END_OF_FILE
# Fails also without a mutation where the machine is "busy".
cat >tests/test_stress.c <<'END_OF_FILE'
#include <unistd.h>
int seen_far(int);
int main(void) { return access("busy", F_OK) == 0 || seen_far(7) != 0 || seen_far(6) != 1; }
END_OF_FILE
# It sees what test_unit_sync does not, and takes longer.
cat >>CMakeLists.txt <<'END_OF_FILE'
add_executable(test_slow tests/test_slow.c)
target_link_libraries(test_slow PRIVATE drove_sync)
add_test(NAME test_slow COMMAND test_slow WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
set_tests_properties(test_slow PROPERTIES LABELS unit/sync)
add_dependencies(drove_unit_sync_tests test_slow)
END_OF_FILE
cat >tests/test_slow.c <<'END_OF_FILE'
#include <stdio.h>
#include <unistd.h>
int seen_slowly(int a);
int main(void)
{
    FILE *f = fopen("slow.txt", "a");
    fputs("ran\n", f);
    fclose(f);
    access("delayed", F_OK) == 0 ? (void)sleep(600) : (void)usleep(300000);
    return seen_slowly(7) != 14;
}
END_OF_FILE
git init -q -b main . && git add -A && git commit -qm first

list() { # OLD NEW...
    while [ $# -gt 0 ]; do
        printf '{"file": "src/sync/a.c", "old": "%s", "new": "%s", "what": "%s"}\n' "$1" "$2" "$1"
        shift 2
    done
}
list 'a + b' 'a * b' 'a < 7' 'a <= 7' 'a - b' 'b - a' >list.jsonl
list 'a < 7' '7 > a' 'a + b' 'a +' >>list.jsonl
list 'not there' '' >>list.jsonl
git add -A

# expect COMMAND...: the outcomes on standard input are those that it prints, one a line.
outcomes() { awk '{ print $1 }' ../out.txt | grep -E '^(killed|survived|equivalent|broken|stale|unfinished)$' || true; }
expect() {
    local wanted
    wanted=$(cat)
    [ "$(outcomes)" = "$wanted" ] || { echo "expected: $wanted"; cat ../out.txt; exit 1; }
}

status=0
scripts/mutate --replay list.jsonl >../out.txt 2>&1 || status=$?
[ $status -eq 1 ] || { echo "expected status 1, found $status"; cat ../out.txt; exit 1; }
printf '%s\n' killed killed survived equivalent broken stale | expect
grep -q 'a + b -> a \* b  \[test_unit_sync\]' ../out.txt || { cat ../out.txt; exit 1; }
grep -q 'a < 7 -> a <= 7  \[test_stress\]' ../out.txt || { cat ../out.txt; exit 1; }
git diff --quiet || { echo "the working tree has changed"; git diff; exit 1; }
cmp -s src/sync/a.c build/mutate/tree/src/sync/a.c || { echo "the copy is left mutated"; exit 1; }

# Only the tests of the folder: what the far test saw survives.  All are killed: status 0.
list 'a < 7' 'a <= 7' >far.jsonl
list 'a + b' 'a - b' >near.jsonl
scripts/mutate --own --replay far.jsonl >../out.txt 2>&1 && { echo "expected status 1"; exit 1; }
echo survived | expect
scripts/mutate --own --replay near.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
echo killed | expect

# Only those of others: what the folder's own sees is not asked.
scripts/mutate --far --replay far.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
echo killed | expect
scripts/mutate --far --replay near.jsonl >../out.txt 2>&1 && { echo "expected status 1"; exit 1; }
echo survived | expect

for bad in '--own --far' '--every src/sync/a.c --own' '--folders nowhere' '--count -1' '--limit 0' '--limt 3'; do
    status=0
    # shellcheck disable=SC2086
    scripts/mutate $bad >../out.txt 2>&1 || status=$?
    [ $status -eq 2 ] || { echo "$bad: expected status 2, found $status"; cat ../out.txt; exit 1; }
done

# Two at once would build in one folder.
status=0
flock build/mutate/lock scripts/mutate --own --replay near.jsonl >../out.txt 2>&1 || status=$?
[ $status -eq 1 ] && grep -q 'expected nobody else here' ../out.txt || { cat ../out.txt; exit 1; }

[ -n "${DROVE_TEST_LONG-}" ] || exit 0

# ---- long: some forty builds ----

# What survived them goes on with the others, once, and the summary has both rates.
scripts/mutate --own --folders sync --seed 3 --count 99 --results ../both.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
n_survived=$(outcomes | grep -c survived)
scripts/mutate --far --results ../both.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
[ "$(outcomes | wc -l)" -eq "$n_survived" ] || { echo "expected $n_survived"; cat ../out.txt; exit 1; }
grep -qE '^killed .*a\.c:13: .*\[test_stress\]' ../out.txt || { cat ../out.txt; exit 1; }
grep -qE '^survived .*a\.c:18: ' ../out.txt || { cat ../out.txt; exit 1; }
scripts/mutate --far --results ../both.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
[ -z "$(outcomes)" ] || { echo "judged again"; cat ../out.txt; exit 1; }
scripts/mutate --summary --results ../both.jsonl >../out.txt
awk '/^sync/ { exit !($3 > 0 && $10 > $8) }' ../out.txt || { cat ../out.txt; exit 1; }

# A test that fails or is slow without the mutation, too, has not seen it.
touch build/mutate/tree/build/release/busy
scripts/mutate --results ../busy.jsonl --replay far.jsonl >../out.txt 2>&1 && { echo "expected status 1"; exit 1; }
echo survived | expect
grep -q '"uncounted": \["test_stress"\]' ../busy.jsonl || { cat ../busy.jsonl; exit 1; }
rm build/mutate/tree/build/release/busy
list 'return a * 2;' 'extern int pause(void); for (;;) pause();' >sleeps.jsonl
: >build/mutate/tree/build/release/slow.txt
(
    while [ "$(wc -l <build/mutate/tree/build/release/slow.txt)" -eq 0 ]; do sleep 0.1; done
    sleep 5
    touch build/mutate/tree/build/release/delayed
) &
scripts/mutate --own --jobs 1 --results ../sleeps.jsonl --replay sleeps.jsonl >../out.txt 2>&1 && { echo "expected status 1"; exit 1; }
wait
echo survived | expect
rm build/mutate/tree/build/release/delayed
scripts/mutate --own --jobs 1 --results ../sleeps.jsonl --replay sleeps.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
echo killed | expect

# What has seen a mutation of the file once runs first, though it takes longer.
list 'a * 2' 'a * 3' >slow.jsonl
scripts/mutate --own --jobs 1 --results ../slow.jsonl --replay slow.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
wc -l <build/mutate/tree/build/release/ran.txt >../before.txt
scripts/mutate --own --jobs 1 --results ../slow.jsonl --replay slow.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
grep -q '\[test_slow\]' ../out.txt || { cat ../out.txt; exit 1; }
[ "$(wc -l <build/mutate/tree/build/release/ran.txt)" -eq "$(cat ../before.txt)" ] || { echo "the faster test ran first"; exit 1; }

# A signal ends it at once, in the midst of a test that hangs, and the copy is as it was.
list 'return a * 2;' 'for (;;) if (a == 999) return 0;' >hangs.jsonl
scripts/mutate --own --jobs 1 --results ../hangs.jsonl --replay hangs.jsonl >../out.txt 2>&1 &
pid=$!
n_slow=$(wc -l <build/mutate/tree/build/release/slow.txt)
for _ in $(seq 300); do [ "$(wc -l <build/mutate/tree/build/release/slow.txt)" -gt "$n_slow" ] && break; sleep 0.1; done
sleep 0.5
began=$(date +%s)
kill $pid
status=0
wait $pid || status=$?
[ $status -eq 143 ] || { echo "expected status 143, found $status"; cat ../out.txt; exit 1; }
[ $(($(date +%s) - began)) -le 4 ] || { echo "it took $(($(date +%s) - began)) s to end"; exit 1; }
cmp -s src/sync/a.c build/mutate/tree/src/sync/a.c || { echo "the copy is left mutated"; exit 1; }

# Random ones: the same seed goes on where it stopped, and what is there is not made again.
scripts/mutate --folders sync --seed 3 --count 2 --results ../r.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
[ "$(wc -l <../r.jsonl)" -eq 2 ] || { echo "expected 2 records"; cat ../r.jsonl; exit 1; }
head -n 1 ../r.jsonl >../first.jsonl
scripts/mutate --folders sync --seed 3 --count 4 --results ../r.jsonl >../out.txt 2>&1 || { cat ../out.txt; exit 1; }
[ "$(outcomes | wc -l)" -eq 2 ] || { echo "expected 2 new ones"; cat ../out.txt; exit 1; }
[ "$(cut -d, -f1-7 ../r.jsonl | sort -u | wc -l)" -eq 4 ] || { echo "made again"; cat ../r.jsonl; exit 1; }
scripts/mutate --summary --results ../r.jsonl >../out.txt
grep -qE '^sync( +[0-9]+){6} ' ../out.txt || { cat ../out.txt; exit 1; }
