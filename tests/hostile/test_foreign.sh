# Files of formats that are not read are named for what they are, whatever their ending.
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
printf 'BZh91AY&SY' >rows.bz2
printf '\3757zXZ\000\000\004' >rows.xz
printf '\223NUMPY\001\000v\000' >rows.npy
printf 'PK\003\004\024\000' >rows.xlsx
printf '\320\317\021\340\241\261' >rows.xls
names 'a Parquet file' rows.parquet
names 'compressed by bzip2' rows.bz2
names 'compressed by xz' rows.xz
names 'a NumPy array' rows.npy
names 'a ZIP archive or a spreadsheet' rows.xlsx
names 'an office program' rows.xls

# Text is looked at where a table is expected: a run file may be JSON, too.
printf '{"a": 1, "b": 2}\n' >rows.json.csv
printf '[{"a": 1}]\n' >list.csv
printf '<!DOCTYPE html>\n<html></html>\n' >page.csv
for file in rows.json.csv list.csv page.csv; do
    run_for 2 train "$file"
    grep -q 'expected a table as text, found \(JSON\|a web page\)' err.txt || fail "$file: $(cat err.txt)"
done
printf '{"data": "synth:logistic?n=50&d=3", "until": "epochs=1"}\n' >run.yaml
run_for 0 train run.yaml

# A device is no run file.
run_for 2 train /dev/null
grep -q '^drove: /dev/null: expected a run file or a data file, found a device$' err.txt || fail "$(cat err.txt)"
echo "named"
