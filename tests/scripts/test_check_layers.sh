# The include checker accepts the tree as it is, and reports each planted violation, with file and line.
set -eu
check=$DROVE_SOURCE_DIR/scripts/check-layers
"$check" "$DROVE_SOURCE_DIR"

for folder in base kernel model optim strategy sync data engine run; do mkdir -p tree/src/$folder; done
mkdir -p tree/include/drove tree/cli tree/examples
echo '#include <drove/status.h>' >tree/cli/main.c
printf '#include <stddef.h>\n#include "optim/rule.h"\n' >tree/src/sync/good.c     # two arrows away: allowed
printf '#include "trace/trace.h"\n' >tree/src/kernel/good.c
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
#        folder files lines includes others against circles run
expect 'sync  *4  *7  *4  *1  *1  *2  *0'
expect 'odd  *2  *13  *1  *1  *-  *0  *2'
expect 'all  *6  *20  *5  *2  *1  *2  *2'
expect '1 circles of files'
expect 'sync: 2 in a circle: a b'
