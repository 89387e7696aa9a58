# Files of formats that are not read are named for what they are, whatever their ending, with a command that works.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

names() { # WORD FILE
    local ending
    for ending in '' .csv; do
        [ "$2$ending" = "$2" ] || cp "$2" "$2$ending"
        run_for 2 train "$2$ending"
        grep -q "found .*$1" err.txt || fail "$2$ending: expected \"$1\": $(cat err.txt)"
        [ "$(wc -l <err.txt)" = 1 ] || fail "$2$ending: expected one line: $(cat err.txt)"
    done
}
printf 'PAR1\025\004\025\020' >rows.parquet
printf '\223NUMPY\001\000v\000' >rows.npy
printf '\320\317\021\340\241\261' >rows.xls
printf '\004\042\115\030' >rows.lz4
printf 'SQLite format 3\000' >rows.sqlite
names 'a Parquet file' rows.parquet
names 'a NumPy array' rows.npy
names 'an office program' rows.xls
names 'compressed by lz4' rows.lz4
names 'an SQLite database' rows.sqlite

# Without the data's ending a file may be a run file.
printf 'BZh91AY&SY' >rows.bz2
printf '\3757zXZ\000\000\004' >rows.xz
for kind in bz2:bzip2 xz:xz; do
    run_for 2 train rows.${kind%:*}
    grep -q "found a file compressed by ${kind#*:} (--data reads it" err.txt || fail "$(cat err.txt)"
done

# Text is looked at where a table is expected: a run file may be JSON, too.
printf '{\n "a": {"0": 1, "1": 2}}\n' >columns.json.csv
printf '[[1, 2], [3, 4]]\n' >list.csv
printf '<!DOCTYPE html>\n<html></html>\n' >page.csv
run_for 2 data info columns.json.csv
for file in list.csv page.csv; do
    run_for 2 train "$file"
    grep -q 'expected a table as text, found \(JSON\|a web page\)' err.txt || fail "$file: $(cat err.txt)"
done
printf '{"data": "synth:logistic?n=50&d=3", "until": "epochs=1"}\n' >run.yaml
run_for 0 train run.yaml

# The commands work, where the packages that they name are here.
peer=${DROVE_TEST_PYTHON-/usr/bin/python3}
if "$peer" -c 'import pandas, pyarrow, openpyxl' 2>/dev/null; then
    "$peer" - <<'EOF'
import pandas
frame = pandas.DataFrame({"size": [i % 7 + 0.5 for i in range(40)], "colour": ["red", "blue"] * 20, "y": ["no"] * 20 + ["yes"] * 20})
frame.to_csv("same.csv", index=False)
frame.to_parquet("a.parquet")
frame.to_feather("a.feather")
frame.to_excel("a.xlsx", index=False)
frame.to_pickle("a.pkl")
frame.to_stata("a.dta", version=118, write_index=False)
frame.to_json("a.columns.json")
frame.to_json("a.split.json", orient="split", index=False)
frame.to_json("a.records.json", orient="records")
frame.to_json("a.lines.jsonl", orient="records", lines=True)
EOF
    run_for 0 data info same.csv --label y
    sed -n '/^column/,$p' out.txt >same.txt
    python3() { "$peer" "$@"; }
    for file in a.parquet a.feather a.xlsx a.pkl a.dta a.columns.json a.split.json; do
        run_for 2 data info "$file"
        eval "$(sed -n 's/.*(\(python3 -c "[^"]*"\).*/\1/p' err.txt)"
        run_for 0 data info "$file.csv" --label y
        sed -n '/^column/,$p' out.txt | diff same.txt - || fail "$file: other columns"
    done
    for file in a.records.json a.lines.jsonl; do
        run_for 0 data info "$file" --label y
        sed -n '/^column/,$p' out.txt | diff same.txt - || fail "$file: other columns"
    done
else
    echo "without pandas: the commands are not tried"
fi

# A device is no run file.
run_for 2 train /dev/null
grep -q '^drove: /dev/null: expected a run file or a data file, found a device$' err.txt || fail "$(cat err.txt)"

# A URL is no file.
for url in https://example.org/a/b.csv 'https://example.org/b?raw=true' ftp://example.org/b.csv.gz; do
    run_for 2 train "$url"
    grep -q "found a URL (curl -fL -o 'b[.a-z]*' '$url' fetches it)" err.txt || fail "$url: $(cat err.txt)"
done
echo "named"
