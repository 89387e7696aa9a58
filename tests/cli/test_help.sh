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

# Every option only on request, in each of the ways to ask for it; all that is short is in there too.
for way in 'train --help all' 'train --help=all' 'help train all'; do
    # shellcheck disable=SC2086
    run_for 0 $way
    diff -u "$expected/help_train_all.txt" out.txt
    if LC_ALL=C.UTF-8 grep -nE '^.{81,}$' out.txt; then fail "$way: wider than 80 columns"; fi
done
flags() { grep -oE '^  --[a-z-]+' "$1" | sort; }
flags "$expected/help_train.txt" >short.txt
flags "$expected/help_train_all.txt" >all.txt
[ -z "$(comm -23 short.txt all.txt)" ] || fail "--help has options that --help all lacks: $(comm -23 short.txt all.txt)"
[ "$(grep -cvE -- '--(json|quiet|help)$' short.txt)" = 12 ] || fail "expected twelve options: $(cat short.txt)"
n_all=$(grep -cvE -- '--(json|quiet|help)$' all.txt)
[ "$n_all" = "$("$DROVE" __complete train -- | grep -cvE -- '--(json|quiet|help)$')" ] ||
    fail "--help all and the completion differ"
run_for 2 train --help=al
[ "$(cat err.txt)" = 'drove: --help: expected all, or no value, found "al"' ] || fail "--help=al: $(cat err.txt)"

# --help wins over what else is there, but not over a mistake.
run_for 0 train --lr 0.5 --help
run_for 2 train --lrr 0.5 --help

run_for 0 --version
version=$(sed -n 's/^#define DROVE_VERSION_[MP][A-Z]* \([0-9]*\)$/\1/p' "$DROVE_SOURCE_DIR/include/drove/version.h" | paste -sd .)
[ "$(cat out.txt)" = "drove $version" ] || fail "--version: expected 'drove $version', found '$(cat out.txt)'"
