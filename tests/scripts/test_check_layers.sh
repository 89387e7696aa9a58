# scripts/check-layers accepts the tree as it is, and reports each planted violation of each law, with file and line.
set -eu
check=$DROVE_SOURCE_DIR/scripts/check-layers
"$check" "$DROVE_SOURCE_DIR"

for folder in base kernel model optim strategy sync data engine run; do mkdir -p tree/src/$folder; done
mkdir -p tree/src/data/disk tree/src/data/open tree/include/drove tree/cli tree/examples
echo '#include <drove/status.h>' >tree/cli/main.c
printf '#include <stddef.h>\n#include "optim/rule.h"\n' >tree/src/sync/good.c     # two arrows away: allowed
printf '#include "trace/trace.h"\n' >tree/src/kernel/good.c
printf '#include "data/data.h"\n#include "data/disk/blocks.h"\n' >tree/src/data/open/good.c
"$check" tree

n_planted=0
plant() { # FILE INCLUDE-LINE EXPECTED-TEXT
    printf '/* first line */\n%s\n' "$2" >"tree/$1"
    if "$check" tree >report.txt; then
        echo "not reported: $2 in $1"; exit 1
    fi
    if ! grep -qF "$1:2: " report.txt || ! grep -qF "$3" report.txt; then
        echo "wrong report for: $2 in $1"; cat report.txt; exit 1
    fi
    rm "tree/$1"
    n_planted=$((n_planted + 1))
}
plant src/base/low.c '#include "kernel/kernel.h"' 'base/ may not include kernel/'
plant src/base/low.h '#include "trace/trace.h"' 'base/ may not include trace/'
plant src/kernel/up.c '#  include "model/model.h"' 'kernel/ may not include model/'
plant src/optim/side.h '#include "model/layer.h"' 'optim/ may not include model/'
plant src/sync/sees_layers.c '#include "model/layer.h"' 'sync/ may not include model/'
plant src/engine/up.c '#include "run/run.h"' 'engine/ may not include run/'
plant src/data/side.c '#include "kernel/kernel.h"' 'data/ may not include kernel/'
plant src/data/disk/room.c '#include "data/open/match.h"' 'data/disk/ may not include data/open/'
plant src/data/room.h '#include "data/disk/blocks.h"' 'data/ may not include data/disk/'
plant src/model/threads.c '#include <pthread.h>' 'belongs to'
plant src/model/library.c '#include <dnnl.h>' 'belongs to'
plant src/sync/dots.c '#include "../model/layer.h"' 'no path with ..'
plant src/sync/angle.c '#include <model/layer.h>' 'not seen as ours'
plant src/sync/nowhere.c '#include "nowhere/x.h"' 'is not a folder'
plant include/drove/leak.h '#include "base/status.h"' 'only public headers'
plant cli/peek.c '#include "base/status.h"' 'only public headers'
plant examples/peek.c '#include "run/run.h"' 'only public headers'
"$check" tree
echo "$n_planted planted violations reported"
mkdir tree/src/unknown
echo 'int x;' >tree/src/unknown/x.c
if "$check" tree >report.txt; then echo "a folder without a row was accepted"; exit 1; fi
grep -qF 'src/unknown/ has no row' report.txt

# The arrows, with what they imply.
"$check" --arrows >arrows.txt
grep -qx 'base:' arrows.txt
for folder in base kernel trace optim strategy; do
    grep -q "^sync:.* $folder\( \|\$\)" arrows.txt || { echo "sync may include $folder"; exit 1; }
done
if grep -q '^sync:.* \(sync\|model\)' arrows.txt; then echo "too much for sync"; exit 1; fi

# The other laws.  broken LAW EXPECTED-TEXT: the tree breaks one, in one place.
broken() {
    if "$check" tree >report.txt; then echo "not reported: $1"; exit 1; fi
    if ! grep -qF "$2" report.txt || [ "$(wc -l <report.txt)" -ne 2 ]; then
        echo "wrong report: $1"; cat report.txt; exit 1
    fi
    n_planted=$((n_planted + 1))
}
list=tree/scripts/layers-exceptions.txt
# excepted LAW LINE...: the same is right with these lines in the list, each of them alone is needed, and none is too much.
excepted() {
    law=$1
    shift
    printf '%s | a reason\n' "$@" >$list
    "$check" tree || { echo "not excepted: $law"; exit 1; }
    echo "$1 | a reason" >expected.txt
    "$check" --exceptions tree | grep -v '| ?$' | grep -qxF -f expected.txt || { echo "not printed: $law"; exit 1; }
    rm $list
}
# stale LINE EXPECTED-TEXT: a line of the list that the tree does not need.
stale() {
    printf '%s | a reason\n' "$1" >$list
    broken "stale: $1" "scripts/layers-exceptions.txt:1: $2"
    rm $list
}
rm -rf tree/src tree/cli/*
mkdir -p tree/scripts tree/src/base tree/src/sync tree/src/config tree/src/run
list_of() { for i in $(seq "$1"); do printf '%s%s%d' "$([ "$i" = 1 ] || echo ', ')" "$2" "$i"; done; } # 3 x -> x1, x2, x3

printf '#include "sync/b.h"\n' >tree/src/sync/a.h
printf '#include "sync/c.h"\n' >tree/src/sync/b.c
printf 'int b;\n' >tree/src/sync/b.h
printf '#include "a.h"\n' >tree/src/sync/c.h
broken 'a circle of includes' 'src/sync: includes in a circle: a b c'
printf 'int c;\n' >tree/src/sync/c.h
stale 'circle | sync: a b c' 'expected KIND'

printf 'typedef struct large {\n    int %s;\n    struct {\n        int (*f)(int a, int b);\n        char text[2];\n    } part;\n} large;\n' \
    "$(list_of 22 x)" >tree/src/sync/c.h
"$check" tree # 24 members
sed -i 's/char text/enum { A, B } kind;\n        char text/' tree/src/sync/c.h
broken 'a large struct' 'src/sync/c.h:1: large has 25 members'
excepted 'a large struct' 'struct | large 25'
excepted 'a struct of any size' 'struct | large *'
stale 'struct | large 26' 'allows too much, write: struct | large 25'
printf 'struct | large 24 | a reason\n' >$list
broken 'a struct that has grown' 'src/sync/c.h:1: large has 25 members'
rm $list tree/src/sync/c.h

printf '/* int no(%s); */\nstatic int f(%s,\n    int (*g)(int a, int b))\n{\n    return 0;\n}\n' "$(list_of 9 'int x')" "$(list_of 7 'int x')" \
    >tree/src/sync/c.c
"$check" tree # 8 arguments
sed -i 's/^static int f(/&int x, /' tree/src/sync/c.c
broken 'a long function' 'src/sync/c.c:2: f takes 9 arguments'
excepted 'a long function' 'function | f 9'
excepted 'long functions of a folder' 'function | src/sync/ 1'
printf 'function | f 9\n' >$list
if "$check" tree >report.txt; then echo "a line without a reason was accepted"; exit 1; fi
grep -qF "scripts/layers-exceptions.txt:1: expected KIND | SUBJECT | REASON" report.txt
rm $list tree/src/sync/c.c

printf 'void f(const drove_config *c, drove_problem *p, int x,\n       drove_state *s, drove_workers w)\n{\n}\n' >tree/src/run/f.c
"$check" tree # pointers to three
sed -i 's/drove_workers w/drove_workers *w/' tree/src/run/f.c
broken 'a function with four of the values' 'src/run/f.c:1: f takes more than three of the five values'
excepted 'a function with four of the values' 'values | f'
printf 'struct s {\n    drove_config c;\n    const drove_problem *p;\n    drove_stateful x;\n};\n' >tree/src/run/f.c
"$check" tree # two
sed -i 's/drove_stateful/drove_state/' tree/src/run/f.c
broken 'a struct that holds three of the values' 'src/run/f.c:1: s holds more than two of the five values'
excepted 'a struct that holds three of the values' 'holds | s'

printf 'static int f(const drove_run *run)\n{\n}\nint drove_run_x(drove_run *run)\n{\n}\nint g(drove_run_x *r);\n' >tree/src/run/f.c
broken 'a function that takes the run' 'src/run/f.c:1: f takes a whole drove_run'
excepted 'a function that takes the run' 'takes | f'
for written in 'drove_run const *r' 'drove_run r[]' 'drove_run r' 'int x, drove_run **r'; do
    printf 'static int f(%s)\n{\n}\n' "$written" >tree/src/run/f.c
    broken "a function that takes the run as $written" 'src/run/f.c:1: f takes a whole drove_run'
done
printf 'takes | f * | a reason\n' >$list # any number: of members alone
if "$check" tree >report.txt; then echo "any number of functions was accepted"; exit 1; fi
printf '%s | a reason\n' 'takes | f' 'takes | g' >$list
broken 'a line that is not needed' 'scripts/layers-exceptions.txt:2: no longer needed: takes | g'
cp tree/src/run/f.c tree/src/run/g.c # another of that name
printf 'takes | f | a reason\n' >$list
broken 'two functions of one name that take the run' 'src/run/f.c:1: f takes a whole drove_run'
rm $list tree/src/run/g.c

printf 'int f(const drove_config *c, int x)\n{\n}\nint g(drove_config_x *r, const\n      drove_config *c);\n' >tree/src/run/f.c
"$check" tree
sed -i 's/int x/drove_config *x/' tree/src/run/f.c
broken 'a configuration that is not const' 'src/run/f.c:1: f gets a drove_config that is not const'
excepted 'a configuration that is not const' 'writes | f'
printf 'int f(drove_config *c)\n{\n}\n' >tree/src/run/f.c
broken 'a configuration that is not const, the first argument' 'src/run/f.c:1: f gets a drove_config that is not const'
rm tree/src/run/f.c
printf 'int o;\n' >tree/src/config/options.h
printf '#include "config/options.h"\n' >tree/src/config/f.c # its home
"$check" tree
mv tree/src/config/f.c tree/src/run/f.c
broken 'a file that knows the fields of options' 'src/run/f.c:1: "config/options.h": fields of drove_options are named in src/config alone'
rm tree/src/run/f.c
printf 'int f(const drove_spec *s)\n{\n    /* drove__spec_get(s) */\n    return drove__spec_take(s, keys, 0);\n}\n' >tree/src/run/f.c
sed 's/take(s, keys/get(s, "key"/' tree/src/run/f.c >tree/src/base/f.c # its home
"$check" tree
sed -i 's/take(s, keys/get(s, "key"/' tree/src/run/f.c
broken 'a spec that is asked for a key' 'src/run/f.c:4: drove__spec_get: a spec is asked for a key in src/base alone'
rm tree/src/run/f.c tree/src/base/f.c

# Circles of calls, by the objects.
"$check" --calls tree >report.txt && status=0 || status=$?
if [ "$status" != 77 ] || ! grep -q 'skipped' report.txt; then echo "calls without objects"; exit 1; fi
compile() { # FOLDER/NAME FUNCTION CALLED
    mkdir -p "tree/build/release/src/CMakeFiles/drove_${1%/*}.dir/${1%/*}"
    echo "int $2(void); int $3(void); static int own(void) { return $3(); } int $2(void) { return own(); }" >"tree/src/$1.c"
    ${CC:-cc} -c "tree/src/$1.c" -o "tree/build/release/src/CMakeFiles/drove_${1%/*}.dir/$1.c.o"
}
compile sync/a fa fb
compile sync/b fb fc
compile sync/c fc fd
compile base/d fd fe
compile sync/gone fe fa
compile run/fa fa fa
rm tree/src/sync/gone.c tree/src/run/fa.c # their objects do not count
"$check" --calls tree
compile sync/c fc fa
if "$check" --calls tree >report.txt; then echo "a circle of calls was accepted"; exit 1; fi
grep -qxF 'src/sync: calls in a circle: a b c' report.txt
"$check" --report tree | grep -qx 'sync: 3 in a circle: a b c'
"$check" tree
echo 'calls | sync: a b c | a reason' >$list
if "$check" --calls tree >report.txt; then echo "a circle of calls was accepted with a reason"; exit 1; fi
grep -qF 'src/sync: calls in a circle: a b c' report.txt
rm $list

# Objects older than their source, or its header, say nothing of circles.
expect_stale() { # FILES
    "$check" --calls tree >report.txt 2>errors.txt && status=0 || status=$?
    if [ "$status" != 2 ] || [ -s report.txt ] || ! grep -qF "circles of calls unknown: $1 newer than the objects" errors.txt; then
        echo "calls by old objects: $1"; cat report.txt errors.txt; exit 1
    fi
    "$check" --report tree >report.txt
    grep -qF "circles of calls unknown: $1 newer than the objects" report.txt
    if grep -q 'by calls' report.txt; then echo "a report by old objects: $1"; exit 1; fi
    grep -qx 'sync  *5  *5  *1  *0  *0  *0  *-  .*' report.txt || { echo "calling by old objects"; cat report.txt; exit 1; }
}
touch -d '1 second' tree/src/sync/c.c
expect_stale src/sync/c.c
touch -d '1 second' tree/src/sync/a.c tree/src/base/d.c
expect_stale 'src/base/d.c and 2 more'
"$check" tree # the other laws need no objects
compile sync/a fa fb
compile sync/c fc fd
compile base/d fd fe
touch -d '1 minute ago' tree/src/sync/*.c
"$check" --calls tree
echo 'int a;' >tree/src/base/d.h
touch -d '1 second' tree/src/base/d.h
"$check" --calls tree && exit 1
rm tree/src/base/d.h
"$check" --calls tree
echo "$n_planted planted violations reported"

# The report: a and b include each other, c is beside them; an include upward; two functions that take the run.
rm -rf tree
mkdir -p tree/include/drove tree/src/sync tree/src/odd
printf '#include "sync/b.h"\n' >tree/src/sync/a.c
printf 'int a;\n' >tree/src/sync/a.h
printf '#include "a.h"\n#include "odd/o.h"\n#include <stddef.h>\n' >tree/src/sync/b.h
printf '#include "sync/a.h"\n/* int no(drove_run *run) { } */\n' >tree/src/sync/c.c
printf 'int f(drove_run *run)\n{\n}\nstatic int g(int a,\n    const drove_run *run)\n{\n f(run);\n}\nint h(drove_run_x *r)\n{\n}\n' \
    >tree/src/odd/o.c
printf '#include "sync/a.h"\nint f(drove_run *run);\n' >tree/src/odd/o.h
"$check" --report tree >report.txt
expect() { grep -qx "$1" report.txt || { echo "expected a line: $1"; cat report.txt; exit 1; }; }
#       folder files lines includes others against circled calling functions mean once share structs arguments three run
expect 'sync  *4  *7  *4  *1  *1  *2  *-  *0  *-  *0  *-  *0  *0  *0  *0  *0'
expect 'odd  *2  *13  *1  *1  *-  *0  *-  *3  *2.3  *0  *0%  *0  *0  *0  *2  *0'
expect 'all  *6  *20  *5  *2  *1  *2  *-  *3  *2.3  *0  *0%  *0  *0  *0  *2  *0'
expect '1 circles of files by includes'
expect 'sync: 2 in a circle: a b'
# Of two statics, one is used once; its prototype does not count.
printf 'static int once(void);\nstatic int twice(void)\n{\n}\nint f(void)\n{\n    twice(); /* once() */\n    return once();\n}\n' >tree/src/odd/o.c
printf 'static int once(void)\n{\n    return twice();\n}\n' >>tree/src/odd/o.c
"$check" --report tree >report.txt
expect 'odd  *2  *15  *1  *1  *-  *0  *-  *3  *3.0  *1  *33%  *0  *0  *0  *0  *0'
