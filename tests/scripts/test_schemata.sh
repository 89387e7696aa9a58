# scripts/mutate --every: each mutation of a small file, with the outcomes worked out by hand.  tree-sitter must be
# in the Python that DROVE_TEST_PYTHON names, else in python3.
set -eu
for tool in python3 git cmake ninja; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done

python=${DROVE_TEST_PYTHON:-python3}
mkdir -p tree/scripts tree/src/sync tree/tests/mutations
cp "$DROVE_SOURCE_DIR"/scripts/{mutate,test,check-layers} tree/scripts/
cp "$DROVE_SOURCE_DIR"/tests/mutations/{operators.py,schemata.py,choose.h} tree/tests/mutations/
cd tree
export GIT_AUTHOR_NAME=t GIT_COMMITTER_NAME=t GIT_AUTHOR_EMAIL=t GIT_COMMITTER_EMAIL=t
echo build >.gitignore
cat >CMakeLists.txt <<'END_OF_FILE'
cmake_minimum_required(VERSION 3.25)
project(small C)
enable_testing()
add_subdirectory(src)
foreach(name test_sums test_loops test_fails test_alone)
  add_executable(${name} tests/${name}.c)
  target_link_libraries(${name} PRIVATE drove_sync)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit/sync SKIP_RETURN_CODE 77)
endforeach()
END_OF_FILE
echo 'add_library(drove_sync STATIC sync/a.c)' >src/CMakeLists.txt
cat >src/sync/a.c <<'END_OF_FILE'
#include "a.h"

int sum(int a, int b, int c)
{
    return a - b * c;
}

int first(const int *v, int n)
{
    static const int none = 7;
    int spare[2] = {0};
    (void)spare;
    switch (n) {
    case 4: return none;
    }
    return v[n];
}

struct pair both(int a)
{
    struct pair p = {a, a};
    return p;
}

void wait_for(volatile int *flag)
{
    while (!*flag) {
        *flag = !*flag;
    }
}

int unused(int a)
{
#if 0
    a++;
#endif
    return a;
}
END_OF_FILE
cat >src/sync/a.h <<'END_OF_FILE'
struct pair { int a, b; };
int sum(int a, int b, int c);
int first(const int *v, int n);
struct pair both(int a);
void wait_for(volatile int *flag);
int unused(int a);
END_OF_FILE
# It does not see a - b + c, which is 5 too, though a - (b + c) is not; nor the index: neighbours are equal.
cat >tests/test_sums.c <<'END_OF_FILE'
#include "../src/sync/a.h"
int main(void)
{
    const int same[] = {5, 5, 5};
    return sum(1, -2, 2) != 5 || first(same, 1) != 5 || first(same, 4) != 7 || both(3).b != 3;
}
END_OF_FILE
# Without the assignment, the loop has no end.
cat >tests/test_loops.c <<'END_OF_FILE'
#include "../src/sync/a.h"
int main(void)
{
    volatile int flag = 0;
    wait_for(&flag);
    return flag != 1;
}
END_OF_FILE
echo 'int main(void) { return 1; }' >tests/test_fails.c
# It fails where another one of it runs.
cat >tests/test_alone.c <<'END_OF_FILE'
#include <sys/stat.h>
#include <unistd.h>
#include "../src/sync/a.h"
int main(void)
{
    const int same[] = {5, 5, 5};
    if (mkdir("../alone", 0700) != 0) return 1;
    usleep(100000);
    rmdir("../alone");
    return first(same, 1) != 5;
}
END_OF_FILE
git init -q -b main . && git add -A && git commit -qm first

status=0
$python scripts/mutate --every src/sync/a.c --results ../results.jsonl >../out.txt 2>&1 || status=$?
if [ $status -eq 77 ]; then
    grep -q 'pip install tree-sitter tree-sitter-c' ../out.txt || { cat ../out.txt; exit 1; }
    echo "skip: no tree-sitter"
    exit 77
fi
[ $status -eq 0 ] || { echo "expected status 0, found $status"; cat ../out.txt; exit 1; }

grep -E '^(killed|survived|left out) ' ../out.txt | sed -E 's/ +/ /g; s|src/sync/||' | sort >../found.txt
sort >../wanted.txt <<'END_OF_FILE'
killed a.c:5: arithmetic: - -> + [test_sums]
survived a.c:5: arithmetic: * -> +
killed a.c:5: return: a - b * c -> 0 [test_sums]
left out a.c:10: constant: 7 -> 8 [initial value of a static variable]
left out a.c:10: constant: 7 -> 6 [initial value of a static variable]
survived a.c:11: constant: 0 -> 1
left out a.c:14: constant: 4 -> 5 [label of a case]
left out a.c:14: constant: 4 -> 3 [label of a case]
killed a.c:14: return: none -> 0 [test_sums]
survived a.c:16: index: n -> n + 1
survived a.c:16: index: n -> n - 1
killed a.c:16: return: v[n] -> 0 [test_sums]
left out a.c:22: return: p -> 0 [does not compile]
killed a.c:27: condition: !*flag -> !(!*flag) [test_loops]
killed a.c:28: statement: *flag = !*flag; -> ; [test_loops]
left out a.c:35: arithmetic: ++ -> -- [not compiled here]
left out a.c:35: statement: a++; -> ; [not compiled here]
survived a.c:37: return: a -> 0 [reached by no test]
left out test_fails: it fails without a mutation
END_OF_FILE
diff ../wanted.txt ../found.txt || { cat ../out.txt; exit 1; }
grep -q 'a.c: 18 mutations, 7 left out, 1 reached by no test; 3 tests;' ../out.txt || { cat ../out.txt; exit 1; }
grep -q 'a.c: 5 of 11 survived' ../out.txt || { cat ../out.txt; exit 1; }
scripts/mutate --summary --results ../results.jsonl | grep -qE '^sync +6 +0 +5 ' || { cat ../results.jsonl; exit 1; }
grep -q '"operator": "index", "column": 14, "old": "n", "new": "n + 1", "outcome": "survived"' ../results.jsonl ||
    { cat ../results.jsonl; exit 1; }
git diff --quiet || { echo "the working tree has changed"; git diff; exit 1; }
cmp -s src/sync/a.c build/mutate/tree/src/sync/a.c || { echo "the copy is left mutated"; exit 1; }

status=0
$python scripts/mutate --every src/sync/none.c >../out.txt 2>&1 || status=$?
[ $status -eq 2 ] && grep -q 'found src/sync/none.c' ../out.txt || { echo "status $status"; cat ../out.txt; exit 1; }
