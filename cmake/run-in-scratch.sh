#!/bin/sh
# run-in-scratch.sh FOLDER COMMAND...: make FOLDER anew and empty, and run the command in it.  Processes that the command
# has left running are named and ended, and make it fail: found by a word in their environment, where there is a /proc.
# DROVE_NO_SYNC: a library that is preloaded if it has been built.
set -eu
folder=$1
shift
case $folder in
*/scratch/*) ;;
*) echo "run-in-scratch.sh: '$folder' is not inside a scratch folder" >&2; exit 2 ;;
esac
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
word=DROVE_TEST_RUN=$$-${folder##*/}
status=0
[ ! -e "${DROVE_NO_SYNC-}" ] || export LD_PRELOAD="$DROVE_NO_SYNC"
env "$word" "$@" || status=$?

left() { # the processes, by number
    grep -lszxF -e "$word" /proc/[0-9]*/environ | sed -n 's|^/proc/\([0-9]*\)/environ$|\1|p'
}
for wait in 0.1 0.2 0.5 1 2 0; do # those that are about to end may
    processes=$(left)
    [ -n "$processes" ] || exit $status
    sleep $wait
done
for process in $processes; do
    echo "left running: process $process: $(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null || true)"
    kill -KILL "$process" 2>/dev/null || true
done
[ $status -ne 0 ] || status=1
exit $status
