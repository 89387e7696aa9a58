# scripts/test: builds run beside the tests of earlier ones, a failed build is counted and its tests are left out, the
# seconds of phases, builds and slow tests are printed, and nothing goes on running.  CMake, CTest and the checks are
# stand-ins.
set -eu
command -v clang >/dev/null || { echo "skip: no clang"; exit 77; }
[ -e /proc/self/stat ] || { echo "skip: /proc is not mounted, by which processes are found"; exit 77; }
fail() {
    echo "$*"
    cat out.txt
    exit 1
}

mkdir -p tree/scripts tree/tests/costs tree/tests/unit tree/examples bin
echo '/* No reason. */' >tree/tests/unit/test_named.c
echo '# ctest: slow: it has one.' >tree/tests/unit/test_said.sh
echo 'test_named 1 12' >tree/tests/costs/asan.txt
cp "$DROVE_SOURCE_DIR/scripts/test" tree/scripts/
for script in setup check-layers check-races check-claims check-docs check-format; do
    printf '#!/bin/sh\necho "%s: nothing found"\n' $script >tree/scripts/$script
done
# A build of PRESET waits for the file let-PRESET, fails if there is fail-PRESET, and notes its priority.
cat >bin/cmake <<'END'
#!/bin/bash
[ "$1" = --build ] || { mkdir -p "build/$2/Testing/Temporary" && : >"build/$2/Testing/Temporary/LastTest.log"; exit; }
for ((i = 0; i < 300; i++)); do [ ! -e "../let-$3" ] || break; sleep 0.1; done
echo "build $3 $(nice)" >>../events.txt
[ ! -e "../fail-$3" ] || { echo "a.c:1: error: planted"; exit 1; }
END
# The tests of the first configuration let the builds go on.
cat >bin/ctest <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do
    [ "$1" != --test-dir ] || preset=${2#build/}
    [ "$1" != --output-junit ] || report=$2
    shift
done
echo "tests $preset $(head -n 1 "build/$preset/Testing/Temporary/CTestCostData.txt" 2>/dev/null)" >>../events.txt
touch ../let-release
[ "$preset" != clang ] || for ((i = 0; i < 300; i++)); do ! grep -q 'build asan' ../events.txt || break; sleep 0.1; done
echo " 1/5 Test  #7: test_named ......   Passed   12.34 sec"
echo " 2/5 Test #17: cli_test_said .....***Failed    6.00 sec"
echo " 3/5 Test #18: test_quick ........   Passed    4.99 sec"
n_failed=0
[ ! -e "../fail-tests-$preset" ] || n_failed=2
printf '<testsuite\n\ttests="5"\n\tfailures="%d"\n\tskipped="1"\n>\n' $n_failed >"$report"
[ $n_failed = 0 ] || {
    echo "60% tests passed, 2 tests failed out of 5"
    printf '\nThe following tests FAILED:\n\t  7 - test_named (Timeout)\n\t 17 - cli_test_said (Failed)\n'
    exit 8
}
echo "100% tests passed, 0 tests failed out of 5"
END
chmod +x bin/* tree/scripts/*
export PATH=$PWD/bin:$PATH

# run STATUS: scripts/test with this exit status; builds of clang, asan and tsan do not wait.
run() {
    local status=0
    rm -rf events.txt let-* tree/build
    touch let-clang let-asan let-tsan
    tree/scripts/test >out.txt 2>&1 || status=$?
    [ $status = "$1" ] || fail "expected status $1, found $status"
}

run 0
[ "$(tail -n 1 out.txt)" = "16 passed, 0 failed, 4 skipped" ] || fail "the last line"
nice=$(awk '$1 == "build" { print $3 }' events.txt | sort -u)
[ "$nice" = $(($(nice) + 10)) ] || [ "$nice" = 19 ] || fail "priority of the builds: $nice"
events=$(cut -d ' ' -f 1,2 events.txt | paste -sd ,)
case $events in
"build clang,tests clang,build release,build asan,"*) ;; # the tests of clang went on beside two builds
*) fail "order: $events" ;;
esac
for name in release asan tsan; do
    grep -q "^tests $name" events.txt || fail "no tests of $name"
done
grep -qx 'tests asan test_named 1 12' events.txt || fail "asan: the seconds of earlier runs are not known to ctest"
grep -qx 'tests release ' events.txt || fail "release: seconds from nowhere"
grep -qx ' *12.3  asan: test_named ?' out.txt || fail "a slow test that does not say why"
grep -qx ' *6.0  release: cli_test_said' out.txt || fail "a slow test that says why"
grep -qx ' *5.0  tsan: test_quick' out.txt || fail "the slowest tests"
grep -q '^seconds by phase:' out.txt && grep -qE '^ +[0-9]+  all$' out.txt || fail "no seconds of phases"
for name in clang release asan tsan; do
    grep -qE "^ +[0-9]+  $name\$" out.txt || fail "no seconds of the build $name"
done

touch fail-release
run 1
grep -q 'error: planted' out.txt && grep -q '^FAILED: release: build' out.txt || fail "the failed build is not told"
[ "$(tail -n 1 out.txt)" = "12 passed, 1 failed, 3 skipped" ] || fail "the last line"
! grep -q '^tests release' events.txt || fail "tests of a build that failed"

rm fail-release
touch fail-tests-asan
run 1
grep -qx 'FAILED: asan: test_named (Timeout), cli_test_said (Failed)' out.txt || fail "the failed tests are not named at the end"
[ "$(tail -n 1 out.txt)" = "14 passed, 2 failed, 4 skipped" ] || fail "the last line"
rm fail-tests-asan

# ended PATTERN: scripts/test is ended once there is such a process, which ends as well.
ended() {
    local status=0 test
    rm -rf events.txt let-* tree/build
    tree/scripts/test >out.txt 2>&1 &
    test=$!
    for _ in $(seq 100); do pgrep -f "$1" >/dev/null && break || sleep 0.1; done
    pgrep -f "$1" >/dev/null || fail "expected a process: $1"
    kill -TERM $test
    wait $test || status=$?
    [ $status = 143 ] || fail "expected status 143, found $status"
    for _ in $(seq 50); do pgrep -f "$1" >/dev/null || break; sleep 0.1; done
    ! pgrep -f "$1" >/dev/null || fail "goes on: $1"
}
ended "$PWD/bin/cmake --build"
printf '#!/bin/sh\nsleep 60.25\n' >tree/scripts/check-format
ended 'sleep 60.25'
printf '#!/bin/sh\necho "check-format: nothing found"\n' >tree/scripts/check-format
printf '#!/bin/sh\nsleep 60.5\n' >bin/ctest
sed -i 's/^for .*let-.*$//' bin/cmake
ended 'sleep 60.5'
