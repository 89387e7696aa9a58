# The library keeps no state of the process that a run could change for another: every variable that is not constant
# is in this list, which says why it may be one.
set -eu
if [ -n "$DROVE_SANITIZE" ]; then
    echo "skip: the sanitizers add variables of their own"
    exit 77
fi
cat >allowed <<'LIST'
interrupt interrupts         counts signals; a run compares it with its value at the start
choose choose_guard    of choose_lock, in the list of fork
choose choose_lock     of known
choose known           ways to compute convolutions, measured once and then constant
choose measure_guard   of measure_lock, in the list of fork
choose measure_lock    one measures at a time, for times that no other disturbs
convolution dnn             the functions of cuDNN, found once, constant
convolution is_open         whether they were found
convolution opened          pthread_once
cpu detect_once             pthread_once
cpu features                found once, constant
cpu model                   found once, constant
cpu vendor                  found once, constant
errors drove_cl_host        the library, as a module sees it; set when it is opened
errors drove_cuda_host      likewise
fork first                  locks that a fork waits for, of the whole process as the fork is
fork lock                   of first
fork once                   pthread_once
lifeline ends               a process ends once; a signal's handler has nothing but such variables
lifeline guest              likewise: to whom it says so
list more                   a registry that the program adds, before it has a thread
module devices              found once, constant
module folder               of host; constant
module host                 what modules are given; constant
module known                opened modules; a row is constant
module lacks_sys            whether PoCL was left out, found once, constant
module lock                 of known
module look_call            why no device could be counted, found once, constant
module look_error           likewise
module looked               pthread_once
module n_devices            found once, constant
module n_known              of known
named first                 names of what the program holds in memory: one table for all runs, which only look up
named guard                 of lock, in the list of fork
named last_number           of first
named lock                  of first
onnx_graph empty            an empty text, never written
onednn library_isa          found once, constant
onednn look_once            pthread_once
onednn name                 found once, constant
onednn name_beside_own      found once, constant
onednn engine          made once, constant
onednn engine_once     pthread_once
onednn make_guard      of make_lock, in the list of fork
onednn make_lock       oneDNN's store of primitives is of the process
prefetch held               registers of the processor, counted by holder: they are one for all processes
prefetch is_installed       of held
prefetch previous           of held
ranks_witness tell_by       how the program prints a rank's death; a process is one rank
topo_load guard             of lock, in the list of fork
topo_load lock              hwloc's own lock is of the process
validate theta              zeros, never written
witness signalled           the process's own page, for a signal's handler
writer count                makes names of temporary files differ
LIST
find "$DROVE_BUILD_DIR/src" -path '*drove_*.dir*' -name '*.c.o' | LC_ALL=C sort | while read -r object; do
    file=$(basename "$object" | sed 's/\..*//')
    objdump -t "$object" | awk -v file="$file" '
        / O / && / \.(bss|data)(\.[A-Za-z_]|[ \t])/ && !/\.data\.rel\.ro/ { name = $NF; sub(/\.[0-9]+$/, "", name); print file, name }'
done | LC_ALL=C sort -u >found
awk '{ print $1, $2 }' allowed | LC_ALL=C sort -u >names
if ! grep -q . found; then
    echo "no variables found: are there objects in $DROVE_BUILD_DIR/src?"
    exit 1
fi
if comm -23 found names | grep .; then
    echo "these variables are state of the process: move them into the run, or say here why they may stay"
    exit 1
fi
