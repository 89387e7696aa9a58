# ctest: slow: each breach of a rule is a run of the checker.
# The checker of claims accepts the pages as they are; finds each planted falsehood, also where whoever planted it has signed it;
# and reports what else breaks its rules, with page and line.
set -eu
check=$DROVE_SOURCE_DIR/scripts/check-claims
"$check" --root "$DROVE_SOURCE_DIR"
fail() {
    echo "$*"
    cat report.txt
    exit 1
}

# ---- falsehoods on the pages as they are ----
# A page, a sentence that its figures contradict, and the checks that it would have to rest on.  All are planted and signed at once.
mkdir -p tree/docs/methods
cp -r "$DROVE_SOURCE_DIR/docs/results" tree/docs/results
cp "$DROVE_SOURCE_DIR/docs/methods/papers.md" tree/docs/methods/
n_planted=0
plant() { # PAGE SENTENCE CHECKS EXPECTED-TEXT
    n_planted=$((n_planted + 1))
    printf '\n%s <!-- c:planted-%s -->\n' "$2" $n_planted >>"tree/docs/$1"
    printf '[%s]\nplanted-%s ? ? ? | %s\n' "$1" $n_planted "$3" >>claims.txt
    printf 'planted-%s: %s\n' $n_planted "$4" >>expected.txt
    printf '%s planted-%s\n' "$1" $n_planted >>signed.txt
}
verdict() { # PAGE CELL CHECKS EXPECTED-TEXT
    plant "$1" "$(printf '| verdict |\n|---|\n| %s' "$2")" "$3" "$4"
    sed -i "s/ <!-- c:planted-$n_planted -->\$/& |/" "tree/docs/$1"
}
false='the numbers do not bear it'
: >claims.txt

# Virtual time and the thesis.
plant results/thesis.md 'A persistence bound keeps the mean staleness below 3 whatever m is.' 'max(evals.col(4, "leashed:1")) < 3' "$false"
plant results/thesis.md 'HOGWILD! has 0.48 of m - 1.' 'min(evals(f"hogwild | {m} | {b}", 4) / (m - 1) for m in (8, 16, 32) for b in (16, 256))' 'no number of its claim is 0.48'
plant results/thesis.md 'With 16 and 32 workers the staleness of HOGWILD! does not increase with the batch.' \
    'not all(evals(f"hogwild | {m} | 16", 4) < evals(f"hogwild | {m} | 256", 4) for m in (16, 32))' "$false"
plant results/thesis.md 'With 200 us an example 33 % of the steps of one method are dropped.' \
    '100 * sensitivity.claims("^drops", 13) | given 200' 'no number of its claim is 33'
plant results/thesis.md "The thesis's HOGWILD! with 8 workers takes 0.30 s to 2 %." 'copy("^8 | hogwild:copy", 4) | given 2' 'no number of its claim is 0.30'
plant results/thesis.md "The copy of HOGWILD! costs no updates: it is as fast as without." 'copy("^8 | hogwild:copy", 5) >= copy("^8 | hogwild", 5)' "$false"
plant results/thesis.md 'Back-off takes the mutex from 3.35 to 1.82 s at its own best setting.' 's5("^16 | mutex | none", 5) ; s5("^16 | mutex | linear", 5)' 'no number of its claim is 3.35'
plant results/thesis.md 'The read-write lock loses by back-off.' 's5("^16 | rwlock | linear", 5) > s5("^16 | rwlock | none", 5)' "$false"
# Low precision.
plant results/low-precision.md 'Batches do not bring D8M8 to floats: it is 0.008 higher at 256.' 'fig6e("D8M8 batch 256", 5) - fig6e("D32fM32f batch 256", 5) > 0.007 | given 256' "$false"
plant results/low-precision.md 'The dense order of the paper is kept, D8M8 the fastest.' 'table2.col(3, "dense") == sorted(table2.col(3, "dense"))' "$false"
plant results/low-precision.md 'Code by hand is 25 times as fast as -Ofast.' 'compiled("D8M8", 3) ; compiled("D8M8", 3) > 1' 'no number of its claim is 25'
plant results/low-precision.md '90 % of the settings of Figure 3 are within 50 %.' '100 * sum(abs(x - 1) <= 0.5 for c in range(1, 9) for x in fig3.col(c)) / 96 | given 50' 'no number of its claim is 90'
plant results/low-precision.md 'A second thread gains with sparse data too.' 'min(table2.col(6, "sparse")) > 1' "$false"
plant results/low-precision.md 'New instructions make it 5 to 15 % faster.' 'bound("D8M8, vpmullw and vpmaddwd for new 8-bit instructions", 2) / bound("D8M8", 2) < 1.15 | paper 5 15' "$false"
plant results/low-precision.md 'The SVM is 3.3 and 5.9 times as fast with few bits.' 'svm("D32fM32f", 4) / svm("D16M16 | shared", 4) ; svm("D32fM32f", 4) / svm("D8M8 | shared", 4) > 1' 'no number of its claim is 3.3'
plant results/fpga.md 'The area falls with the precision on one bus too.' 'designs("D8M8 | 2 | 1 | xorshift", 5) < designs("D16M16 | 2 | 1 | xorshift", 5)' "$false"
plant results/widths.md 'After 5,000 passes 8 bits lose 0.03 %.' 'max(mnist("^8", c) - mnist("^float", 1) for c in (1, 3, 4)) > 0 ; max(mnist("^8", c) - mnist("^float", 1) for c in (1, 3, 4)) | given 8' 'no number of its claim is 5,000'
# Devices and clusters.
plant results/elastic.md 'With its messages under the gradient Async EASGD takes 1.50 times the time of Sync EASGD3.' 'every("easgd-async?overlap=1", 4) / every("easgd-sync3", 4) ; every("easgd-async?overlap=1", 4) > every("easgd-sync3", 4)' 'no number of its claim is 1.50'
plant results/elastic.md 'Table 3 is met within 4 %.' 'max(100 * abs(table3(r, 2) / table3(r, 3) - 1) for r in ("Original EASGD (easgd)", "Sync EASGD1", "Sync EASGD2")) <= 4' "$false"
plant results/elastic.md 'Sync EASGD3 is 5.3 times as fast as Original EASGD.' 'max(nets(r, c) for r in ("LeNet, one GPU a host", "MLP, one core a host", "MLP, 8 cores a host") for c in (2, 3, 4)) >= 5.3' "$false"
plant results/elastic.md 'On the links an all-reduce among four takes 4 bytes a parameter.' '4 * 2 * 3 / 4 | method' 'no number of its claim is 4'
plant results/accumulate.md "The root's buffers are room for 57 more images." 'memory("tree, root", 3, 1) / 8.41' 'no number of its claim is 57'
plant results/heterogeneous.md 'Cores alone are never first: a mixture has the least loss in every case.' \
    'all(min(fig(f"{d} | {h} | root", 7), fig(f"{d} | {h} | root", 8)) == 1 for d in ("covtype", "w8a") for h in ("K80", "V100"))' "$false"
plant results/cluster.md 'The all-reduce of 5 MB takes 212 ms and is faster than that of gloo.' 'elastic.table3("Sync EASGD1", 2) < 1' "$false"
# Verdicts on modelled and simulated figures, said without these words.
verdict methods/papers.md 'yes: 166.75 ms' 'accumulate.clock("AlexNet | accumulate", 5)' 'its figures are modelled, and it does not say so'
verdict methods/papers.md 'yes: 95.6 % and more' 'min(accumulate.clock.col(7, "accumulate"))' 'its figures are modelled, and it does not say so'
verdict methods/papers.md 'yes: within 1.9 points' 'max(abs(x) for x in elastic.table4.col(7))' 'its figures are simulated, and it does not say so'
verdict methods/papers.md 'yes: 91.3 % on 64 nodes' 'elastic.simgrid("GoogLeNet | knl | paper", 9)' 'its figures are simulated, and it does not say so'

# What a checker of numbers alone would let pass: the numbers are right, or are not looked at; the words are wrong.
plant results/thesis.md 'Back-off takes the mutex to `1.82` s.' 's5("^16 | mutex | linear", 5) | given 16' 'no number of its claim is 1.82'
plant results/widths.md 'Eight bits are 9.7 times as fast as floats.' '9.7 > 1' 'no number of its claim is 9.7'
plant results/elastic.md '`easgd-hogwild` takes less time than Original EASGD.' 'every("easgd-sync3", 4) < every("easgd", 4)' 'names easgd-hogwild, and no check reads a row of it'
plant results/sparse-threads.md 'A run of w8a is no gain with two threads.' 'zen3("^a9a", 5) < 1' 'names w8a, and no check reads a row of it'
plant results/thesis.md 'With 16 and 32 workers the staleness of HOGWILD! falls with the batch.' 'all(evals(f"hogwild | {m} | 256", 4) > evals(f"hogwild | {m} | 16", 4) for m in (16, 32))' '"falls" asks for a truth with <'
plant results/elastic.md 'Sync EASGD3 is slower than Original EASGD.' 'every("easgd-sync3", 4) < every("easgd", 4)' '"slower" asks for a truth with >'
plant results/peers.md 'JAX with two threads is faster than drove.' 'zen3two("JAX, scan, 2 threads", 1) < zen3two("drove, sync", 1)' '"faster" asks for a truth with >'
plant results/elastic.md 'Sync EASGD3 is the fastest of all methods.' 'every("easgd-sync3", 4) < every("easgd", 4)' '"fastest" asks for a truth about more than two'
plant results/thesis.md 'With 16 workers HOGWILD! is always ahead of Leashed-SGD.' 'max(best.col(6, "^16 | leashed:inf")) > best("^16 | hogwild:copy", 6)' '"always" asks for a truth about each'
plant results/thesis.md 'HOGWILD! of 16 processors was measured at 0.50 s to 2 %.' 'best("^16 | hogwild:copy | ours", 6) | given 2' 'says "measured" of figures that are modelled'
plant results/elastic.md 'An epoch of Original EASGD takes 2.43 times that of Sync EASGD3.' '7.29 / 3 ; every("easgd-sync3", 4) < every("easgd", 4)' '7.29 is written into a check that reads no table'
plant results/elastic.md 'Async SGD needs a third of the epochs of Async EASGD.' 'every("psgd-async", 3) / every("easgd-async", 3) < 0.55' '"a third" is the value of no check'

# claims.txt may name a page once: the planted lines go to the sections that are there.
python3 - <<'END'
import re
path, planted = "tree/docs/results/claims.txt", {}
page = None
for line in open("claims.txt", encoding="utf-8"):
    if line.startswith("["):
        page = line.strip()
    else:
        planted.setdefault(page, []).append(line)
text = open(path, encoding="utf-8").read()
for page, lines in planted.items():
    heading = re.search(re.escape(page) + r".*\n", text)
    if heading:
        text = text[:heading.end()] + "".join(lines) + text[heading.end():]
    else:
        text += "\n" + page + "\n" + "".join(lines)
open(path, "w", encoding="utf-8").write(text)
END
for page in $(cut -d' ' -f1 signed.txt | sort -u); do
    # shellcheck disable=SC2046 # ids are words
    "$check" --root tree --sign "$page" $(sed -n "s|^$page ||p" signed.txt) >report.txt || true
done
"$check" --root tree >report.txt && fail "the planted sentences are accepted"
while read -r line; do
    grep -qF ": $line" report.txt || fail "not reported: $line"
done <expected.txt
n_reported=$(grep -oE ': planted-[0-9]+: ' report.txt | sort -u | wc -l)
[ "$n_reported" -eq $n_planted ] || fail "$n_reported of $n_planted planted sentences were reported"
grep -v -e ': planted-' -e '^note:' -e '^check-claims:' report.txt && fail "sentences were reported that are not planted"

# ---- every rule, on small pages ----
rm -rf tree
mkdir -p tree/docs/methods tree/docs/results
cat >tree/docs/methods/papers.md <<'END'
| item | our figure | agrees |
|---|---|---|
| Figure 2 | [page](../results/page.md) | yes, modelled: 2 workers are faster <!-- c:figure2 --> |
| eq. 3 | - | yes |

| claim | evidence | verdict |
|---|---|---|
| two workers are faster | modelled | yes, modelled: in 2.50 s <!-- c:headline --> |
END
cat >tree/docs/results/page.md <<'END'
# A page of 3 numbers

In 2021, with 8 workers and batch 64, Figures 4.2 to 4.4 of `x 5` were drawn by gcc 12.2 for D8M8 and a 784-128-10.

    indented 17

<!-- t:times modelled 3 -->
| workers | method | seconds | rate |
|---|---|---|---|
| 1 | `a` | 4.00 | 1,000 |
| 2 | `a` | 2.50 (2.40 to 2.60) | 1,604 |
| 2 | `b` | missed | 2,000 |

- With 2 workers it takes 2.5 s, at best 2.4. <!-- c:seconds -->
  And 1,600 steps. <!-- c:steps -->
- It is 1.6 times as fast. <!-- c:ratio --> The paper has 1.9. <!-- c:theirs -->

```sh
code 18
```

Kept lines say 7. <!-- c:lines -->
END
echo '{"method": "a", "n": 7}' >tree/docs/results/page.jsonl
cat >tree/docs/results/claims.txt <<'END'
records 0
[methods/papers.md]
figure2 ? ? ? | page.times("^2 | a", 2) < page.times("^1", 2)
headline ? ? ? | page.times("^2 | a", 2)
[results/page.md]
seconds ? ? ? | times("^2 | a", "seconds") ; times("^2 | a", 2, 1) ; times("^2 | a", 2, 1) < min(times.col(2))
steps ? ? ? | times("2 | a", 3)
ratio ? ? ? | times("1 | a", 2) / times("2 | a", 2) > 1 ; times("1 | a", 2) / times("2 | a", 2)
theirs ? ? ? | paper 1.9
lines ? ? ? | lines("page.jsonl", "n", method="a")
END
"$check" --root tree --sign results/page.md 2>report.txt && fail "all sentences of a page are signed at once"
grep -q 'whose checks you have read' report.txt || fail "signing without an id has no line"
"$check" --root tree --sign results/page.md seconds steps ratio theirs >report.txt && fail "a sentence that is not named is signed"
grep -qF 'lines: sentence or checks are not those that were signed' report.txt || fail "a sentence that is not signed has no line"
"$check" --root tree --sign results/page.md lines >report.txt || true
"$check" --root tree --sign papers.md figure2 headline >report.txt || fail "a true page is not signed"
"$check" --root tree >report.txt || fail "a true page is not accepted"
grep -q '^check-claims: 7 sentences' report.txt || fail "other sentences count"
grep -q '^seconds modelled 3 ' tree/docs/results/claims.txt || fail "the kind of a table is not signed"
grep -q '^lines real - ' tree/docs/results/claims.txt || fail "the kind of no table is not signed"

breach() { # FILE SED-SCRIPT EXPECTED-TEXT
    cp -r tree planted
    sed -i "$2" "planted/docs/$1"
    if "$check" --root planted >report.txt; then fail "not reported: $2"; fi
    grep -qF "$3" report.txt || fail "wrong report of: $2"
    rm -r planted
}
breach results/page.md 's/1.6 times/1.7 times/' 'page.md:16: ratio: no number of its claim is 1.7: 1'
breach results/page.md 's/as fast/as slow/' 'ratio: sentence or checks are not those that were signed'
breach results/claims.txt 's/"1 | a", 2) .* > 1 ;/"1 | a", 2) > 1 ;/' 'ratio: sentence or checks are not those that were signed'
breach results/page.md 's/| 4.00 |/| 2.00 |/' 'ratio: the numbers do not bear it'
breach results/page.md 's/| 2.50 (/| 2.20 (/' 'seconds: no number of its claim is 2.5'
breach results/page.md 's/ <!-- c:steps -->//' 'page.md:14: has no id: And 1,600 steps.'
breach results/page.md 's/c:steps/c:paces/' 'paces has no line in docs/results/claims.txt'
breach results/page.md 's/c:steps/c:ratio/' 'ratio is the id of another sentence too'
breach results/page.md 's/t:times modelled 3/t:times simulated 3/' 'ratio: is simulated with 3 seeds by its tables, modelled with 3 by its claim'
breach results/page.md 's/t:times modelled 3/t:times modelled 1/' 'ratio: is modelled with 1 seeds by its tables'
breach results/page.md '$a The last has 21 of them.' 'has no id: The last has 21 of them.'
breach results/page.jsonl 's/7/8/' 'lines: no number of its claim is 7'
breach results/claims.txt 's/^theirs .*/theirs real - 00000 | record 1.9/' '1 claims are records, 0 may be'
breach results/claims.txt 's/ | times("1 | a", 2) \/ times("2 | a", 2) > 1 ;/ |/' '"times as" is compared by no check'
breach results/claims.txt '$a gone real - 00000 | given 3' 'docs/results/page.md has no gone'
breach results/claims.txt 's/"^2 | a", "seconds"/"^2 | c", "seconds"/' "KeyError: times has no row '^2 | c'"
breach methods/papers.md 's/yes, modelled:/yes:/' 'figure2: its figures are modelled, and it does not say so'
breach methods/papers.md 's/| modelled |/| real |/' 'headline: its figures are modelled, its evidence is called real'
breach methods/papers.md 's/ <!-- c:figure2 -->//' 'papers.md:3: has no id'

"$check" --root planted-nowhere 2>report.txt && fail "no tree was accepted"
grep -q 'expected a source tree' report.txt || fail "a missing tree has no line"
echo "$n_planted falsehoods planted and found"
