# Help of the program and of each command, on standard output, and all ways to ask for it.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

run_for 0 --help
[ ! -s err.txt ] || fail "--help wrote to standard error"
diff -u "$expected/help.txt" out.txt
for way in -h help; do
    run_for 0 "$way"
    diff -u "$expected/help.txt" out.txt
done
for command in $(commands); do
    run_for 0 "$command" --help
    diff -u "$expected/help_$command.txt" out.txt
    run_for 0 help "$command"
    diff -u "$expected/help_$command.txt" out.txt
    run_for 0 "$command" -h
    if LC_ALL=C.UTF-8 grep -nE '^.{81,}$' out.txt; then fail "$command --help: wider than 80 columns"; fi
done

# --help wins over what else is there, but not over a mistake.
run_for 0 train --lr 0.5 --help
run_for 2 train --lrr 0.5 --help

run_for 0 --version
version=$(sed -n 's/^#define DROVE_VERSION  *"\(.*\)"/\1/p' "$DROVE_SOURCE_DIR/include/drove/version.h")
[ "$(cat out.txt)" = "drove $version" ] || fail "--version: expected 'drove $version', found '$(cat out.txt)'"
