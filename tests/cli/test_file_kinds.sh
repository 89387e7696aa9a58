# Tables as strangers have them: compressed, archived, in other encodings and formats.  All are the same rows, and give
# what the plain table gives; the command that an error names works.
set -eu
. "$DROVE_SOURCE_DIR/tests/cli/common.sh"

python3 - <<'EOF'
import bz2, gzip, json, lzma, zipfile
rows = [(i % 10 + 0.25 * (i % 3), ["Bonn", "Köln", "Zürich"][i % 3], i % 7, ["ja", "nö"][i // 40]) for i in range(80)]
head = ["size", "town", "n", "y"]
text = ",".join(head) + "\n" + "".join(",".join(str(c) for c in r) + "\n" for r in rows)
utf8 = text.encode()
def put(name, content):
    with open(name, "wb") as f:
        f.write(content)
put("plain.csv", utf8)
put("packed.csv.gz", gzip.compress(utf8))
put("packed.csv.bz2", bz2.compress(utf8[:700]) + bz2.compress(utf8[700:]))
put("packed.csv.xz", lzma.compress(utf8[:700]) + lzma.compress(utf8[700:]))
for name, members in {"one.zip": ["a/plain.csv", "__MACOSX/a/._plain.csv"], "two.zip": ["plain.csv", "other.csv"]}.items():
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as z:
        for m in members:
            z.writestr(m, b"?" if "MAC" in m else utf8)
put("bom.csv", b"\xef\xbb\xbf" + utf8)
put("utf16.txt", ("\ufeff" + text.replace(",", "\t").replace("\n", "\r\n")).encode("utf-16-le"))
put("utf16be.csv", ("\ufeff" + text).encode("utf-16-be"))
put("bare16.csv", text.encode("utf-16-le"))
put("cp437.csv", text.encode("cp437"))
put("latin.csv", text.encode("latin-1"))
stray = utf8.split(b"\n")
stray[38] = stray[38].replace("ö".encode(), b"\xf6")
put("stray.csv", b"\n".join(stray))
put("rows.jsonl", "".join(json.dumps(dict(zip(head, r))) + "\n" for r in rows).encode())
put("rows.json", json.dumps([dict(zip(head, r)) for r in rows], ensure_ascii=False, indent=1).encode())
arff = "% made up\n@relation towns\n@attribute size numeric\n@attribute town {Bonn,'Köln',\"Zürich\"}\n" \
    "@attribute n integer\n@attribute y {ja,nö}\n@data\n"
put("rows.arff", (arff + "".join("%s,'%s',%d,%s\n" % r for r in rows)).encode())
put("commented.csv", ("# made up\n" + text.replace("\n", " # end\n", 1) + "# the last\n").encode())
put("titled.csv", ("Towns, all\n\n" + text).encode())
put("sep.csv", ("sep=;\r\n" + text.replace(",", ";").replace("\n", "\r\n")).encode())
put("escaped.csv", (",".join(head) + "\n" + "".join('%s,"%s",%d,%s\n' % r for r in rows)).encode())
put("quotes.csv", b'note,x,y\n' + b"".join(b'"she said \\"%s\\", twice",%d,%s\n' % ((b"no", b"yes")[i % 2], i % 5, (b"a", b"b")[i % 2]) for i in range(40)))
put("report.csv", ("Report\nDate,2024-01-01\n\n" + text).encode())
put("breaks.tsv", b"t\tx\ty\n" + b"".join(b"line\\\nbreak %d\t%d\t%s\n" % (i % 2, i % 5, (b"a", b"b")[i % 2]) for i in range(40)))
put("groups.libsvm", b"".join(b"%d qid:%d 1:%d 3:0.5\n" % (i % 2, i // 5, i % 3) for i in range(60)))
put("plain.libsvm", b"".join(b"%d 1:%d 3:0.5\n" % (i % 2, i % 3) for i in range(60)))
put("first.libsvm", b"".join(b"0\n" if i == 0 else b"%d 1:%d 3:0.5\n" % (i % 2, i % 3) for i in range(60)))
put("long.libsvm", b"1 " + b" ".join(b"%d:0.123456" % i for i in range(1, 9000)) + b"\n-1 2:1\n" * 30)
put("names.svm", b"".join(b"%d age:%d h:0.5\n" % (i % 2, 1 + i % 3) for i in range(60)))
put("costs.vw", b"1:0.5 2:1 |f a\n" * 20)
put("table.json", json.dumps({"n": [80], "rows": [dict(zip(head, r)) for r in rows]}).encode())
put("columns.json", json.dumps({"a": {"0": 1, "1": 2}, "y": {"0": 3, "1": 4}}).encode())
put("nan.jsonl", b"".join(b'{"a": %s, "y": "%s"}\n' % (b"NaN" if i == 3 else b"%d.5" % (i % 5), (b"no", b"yes")[i % 2]) for i in range(40)))
put("rows.vw", b"".join(b"%d |words %s film |n size:%d.5\n" % (2 * (i % 2) - 1, (b"bad", b"good")[i % 2], i % 4) for i in range(80)))
put("rows.ffm", b"".join(b"%d 0:1:0.5 1:%d:1\n" % (i % 2, 2 + i % 3) for i in range(60)))
put("ids.csv", b"".join(b"%s,%s,%s,%s\n" % r for r in [(b"id", b"size", b"town", b"n")] + [(b'"k, ""%d"""' % i, b"1.5", b"NA", b"3") for i in range(3)] + [(b"", b"9", b"Bonn", b"2")]))
EOF

# The description of the columns, without remarks.
columns() {
    run_for 0 data info "$@" --label y
    sed -n '/^column/,$p' out.txt
}
columns plain.csv >plain.txt
grep -q '^town  *category  *3 ' plain.txt || fail "$(cat plain.txt)"
same() {
    columns "$@" | diff plain.txt - || fail "$*: other columns than plain.csv: $(cat err.txt)"
}
for file in packed.csv.gz one.zip bom.csv utf16.txt utf16be.csv stray.csv latin.csv rows.jsonl rows.json sep.csv; do same "$file"; done
for library in bz2 xz; do
    run data info "packed.csv.$library"
    case $(cat err.txt) in *'this build cannot read'*) ;; *) same "packed.csv.$library" ;; esac
done
same 'cp437.csv?encoding=cp437'
same 'latin.csv?encoding=latin-1'
same 'commented.csv?comment=#'
same 'titled.csv?skip_lines=2'
same 'escaped.csv?escape=\'
same - <plain.csv
same rows.arff
run_for 0 data info stray.csv --label y
grep -q '1 byte in UTF-8 text is no character of it and was read as Windows-1252, first in line 39' out.txt || fail "$(cat out.txt)"
run_for 0 data info latin.csv --label y
grep -q 'is not UTF-8 and was read as Windows-1252 (Latin-1; ?encoding= names another)' out.txt || fail "$(cat out.txt)"

# A run file may be JSON, an array is none.
run_for 0 train rows.json --label y --model logistic --until epochs=1
run_for 2 train plain.json --label y

# The advice of an error in parentheses and single quotes is a spec that works.
advises() { # FILE ARGUMENT...
    local file=$1
    shift
    run_for 2 data info "$file" "$@"
    spec=$(sed -n "s/^[^']*'\(.*\)'.*/\1/p" err.txt)
    [ -n "$spec" ] || fail "$file: no advice in: $(cat err.txt)"
    run_for 0 data info "$spec" "$@"
}
advises commented.csv --label y
advises titled.csv --label y
advises quotes.csv --label y
advises report.csv --label y
advises breaks.tsv --label y
advises bare16.csv --label y
columns "$spec" | diff plain.txt -
printf 'time,y\n' >counter.csv
for i in $(seq 0 29); do echo "$i,$((3 * i)).5"; done >>counter.csv
run_for 0 data info counter.csv --label y
grep -q '^time  *number  *30 ' out.txt || fail "$(cat out.txt)"
run_for 2 data info two.zip
cat >unzip.py <<'EOF'
import sys, zipfile
sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))
EOF
eval "$(sed -n "s/.*(\(unzip .*\) unpacks one).*/\1/p" err.txt | sed 's/unzip -p/python3 unzip.py/; s/> .plain.csv./> unpacked.csv/')"
cmp plain.csv unpacked.csv

# LIBSVM by its content, and its relatives.
run_for 0 data info plain.libsvm
grep -v '^notes' out.txt >libsvm.txt
run_for 0 data info groups.libsvm
grep -q 'the groups of 60 rows (qid) are left out' out.txt || fail "$(cat out.txt)"
grep -v '^notes' out.txt | diff libsvm.txt -
run_for 0 data info first.libsvm
grep -q '^rows      60$' out.txt || fail "$(cat out.txt)"
grep -q '^features  3$' out.txt || fail "$(cat out.txt)"
run_for 0 data info long.libsvm
grep -q '^features  8999$' out.txt || fail "$(cat out.txt)"
run_for 2 data info rows.ffm
eval "$(sed -n "s/.*(\(sed .*\) writes LIBSVM.*/\1/p" err.txt)"
run_for 0 data info rows.ffm.libsvm
grep -q '^features  4$' out.txt || fail "$(cat out.txt)"
run_for 2 data info names.svm
eval "$(sed -n "s/.*(\(sed .*\) writes Vowpal.*/\1/p" err.txt)"
run_for 0 data info names.svm.vw
grep -q '^non-zero  120 ' out.txt || fail "$(cat out.txt)"
{ echo '60 3 2'; cat plain.libsvm; } >sizes.libsvm
run_for 2 data info sizes.libsvm
eval "$(sed -n "s/.*(\(tail .*\) leaves that line out).*/\1/p" err.txt)"
cmp plain.libsvm sizes.libsvm.libsvm
run_for 2 data info costs.vw
grep -q 'expected one label, not costs of several' err.txt || fail "$(cat err.txt)"

# JSON in other shapes is refused with a command; NaN, which Python writes, is a missing cell.
run_for 2 data info 'table.json'
eval "$(sed -n "s/.*(\(python3 .*\) takes them out).*/\1/p" err.txt)"
same table.json.rows.json
run_for 0 data info nan.jsonl --label y
grep -q '^a  *number  *5  *1 ' out.txt || fail "$(cat out.txt)"
run_for 2 data info columns.json
grep -q "pandas.read_json('columns.json').to_csv('columns.json.csv'" err.txt || fail "$(cat err.txt)"

# Vowpal Wabbit's text: a model of it predicts rows without labels.
run_for 0 data info rows.vw
grep -q '^features  262144$' out.txt || fail "$(cat out.txt)"
grep -q '^classes   2: -1 (40), 1 (40)$' out.txt || fail "$(cat out.txt)"
run_for 0 train rows.vw --model logistic --test none --until epochs=20 --out vw
printf '|words good film |n size:1\n|words bad film |n size:1\n' >new.vw
run_for 0 predict vw new.vw --format lines
printf '1\n-1\n' | diff - out.txt

# Labels that are durations are seconds, in further data, too; classes that may be meant as values are said.
awk 'BEGIN { print "x,took"; for (i = 0; i < 80; i++) printf "%d,%d:%02d:30\n", i % 40, i % 40 / 20, i % 20 * 3 }' >races.csv
run_for 0 train races.csv --label took --model linear --test none --until epochs=200 --out races
run_for 0 eval races --data races.csv
grep -q '^RMSE  *[0-9.]* ' out.txt || fail "$(cat out.txt)"
{ cat races.csv; echo '3,DNF'; } >more.csv
run_for 0 eval races --data more.csv
grep -q '1 row without a label' err.txt || fail "$(cat err.txt)"
awk 'BEGIN { print "x,price"; for (i = 0; i < 60; i++) printf "%d,%s%d\n", i % 40, i % 2 ? "$" : "EUR ", i % 40 }' >prices.csv
run_for 0 data info prices.csv --label price
grep -q 'label "price": 40 classes in 60 rows, most with digits' out.txt || fail "$(cat out.txt)"

# Cells beside predictions, as the file has them.
run_for 0 train plain.csv --label y --model logistic --until epochs=1 --out towns
run_for 0 predict towns ids.csv --keep id+town
cut -d, -f1-4 out.txt | head -2 | tail -1 | grep -q '^"k, ""0""",NA,' || fail "$(cat out.txt)"
head -1 out.txt | grep -q '^id,town,label,p_ja,p_nö$' || fail "$(cat out.txt)"
tail -1 out.txt | grep -q '^,Bonn,' || fail "$(cat out.txt)"
[ "$(wc -l <out.txt)" = 5 ]
run_for 0 predict towns - --keep id <ids.csv
head -1 out.txt | grep -q '^id,label,' || fail "$(cat out.txt)"
wrong 'keep: ids.csv has no column "idd"; did you mean "id"?' predict towns ids.csv --keep idd
wrong 'keep: expected --format csv, found --format lines' predict towns ids.csv --keep id --format lines
wrong 'keep: expected data to predict' train 'plain.csv?keep=town' --label y
echo "all the same rows"
