# The pages that show commands with their output show what the program prints; a page that does not is found out.
# ctest: slow: trains what README and the tutorials show
set -eu
command -v python3 >/dev/null || { echo "skip: no python3"; exit 77; }
replay="python3 $DROVE_SOURCE_DIR/bench/run/replay.py --drove $DROVE"
$replay "$DROVE_SOURCE_DIR/docs/use/tutorial.md"
$replay "$DROVE_SOURCE_DIR/docs/use/finetune.md"
status=0
$replay "$DROVE_SOURCE_DIR/README.md" || status=$?
[ "$status" = 0 ] || [ "$status" = 77 ] || exit 1

# Numbers may differ, words may not; the figures of the constant guess stay near, those of a model not far.
page() {
    printf '# A page\n\n```console\n$ %s\n%s\n```\n' "$1" "$2" >page.md
}
good() { $replay page.md >found.txt || { echo "expected to pass: $(cat page.md found.txt)"; exit 1; }; }
bad() { ! $replay page.md >found.txt || { echo "expected to fail: $(cat page.md found.txt)"; exit 1; }; }
page 'echo "took 1.5 s"' 'took 2.75 s'
good
page 'echo "took 1.5 s"' 'takes 1.5 s'
bad
page 'echo "  speed       5 by hogwild"' '  speed       7 by mutex'
good
for pair in '101 100 good' '80 100 bad'; do
    set -- $pair
    page "echo '  constant    RMSE $1'" "  constant    RMSE $2"
    [ "$3" = good ] && good || bad
done
page "echo '  held-out    RMSE 104'" '  held-out    RMSE 100'
good
page "echo '  held-out    RMSE 140'" '  held-out    RMSE 100'
bad

# --fix writes what is printed, and leaves all else.
page 'seq 3' 'nothing'
$replay --fix page.md
page_before='# A page

```console
$ seq 3
1
2
3
```'
[ "$(cat page.md)" = "$page_before" ] || { cat page.md; exit 1; }
good
