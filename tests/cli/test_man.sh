# The manual page has every option of drove train --help all, with the same default, and no other.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"
page=$DROVE_SOURCE_DIR/docs/man/drove.1

run_for 0 train --help all
awk '
function flush() {
    if (name == "") return
    default = "-"
    if (match(text, /\[[^][]*\]$/)) default = substr(text, RSTART + 1, RLENGTH - 2)
    print name, default
    name = text = ""
}
/^  --/ { flush(); name = substr($1, 3); text = $0; next }
/^                          [^ ]/ { sub(/^ +/, " "); text = text $0; next }
{ flush() }
END { flush() }' out.txt >table.txt
[ "$(wc -l <table.txt)" -gt 20 ] || fail "too few options in the help"

awk '
function flush() { if (name != "") print name, default; name = "" }
/^\.Sh OPTIONS OF A RUN/ { inside = 1 }
/^\.Sh OPTIONS OF OTHER/ { flush(); inside = 0 }
inside && /^\.It Fl -/ { flush(); name = substr($3, 2); default = "-" }
/^Default: / { default = substr($0, 10) }' "$page" >page.txt
diff -u table.txt page.txt || fail "drove train --help all (-) and the manual page (+) differ"

for command in $(commands); do
    grep -q "^\\.It Cm $command\$" "$page" || fail "the manual page lacks the command $command"
done
for flag in $("$DROVE" __complete predict --) $("$DROVE" __complete export --) --budget --folds --metric --space --jobs --limit $("$DROVE" __complete sweep --) $("$DROVE" __complete report --) $("$DROVE" __complete data --) $("$DROVE" __complete dmgc --) \
    $("$DROVE" __complete bench --); do
    grep -q "Fl -${flag#--}\\b" "$page" || fail "the manual page lacks $flag"
done
# A line of text that begins with a dot would be taken for a macro and lost.
if grep -nE "^(\\.[^A-Z\\\\]|')" "$page"; then fail "the manual page has such lines"; fi
if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$page" || fail "mandoc has warnings"
fi
