# tests/cli/lib_choice.sh - what tests of --strategy auto share.

# EXPRESSION: holds of the summary in out.txt, by Python; c is its strategy_choice.
says() {
    python3 - "$1" <<'END' || fail "expected $1: $(head -c 900 out.txt)"
import json, sys
s = json.load(open("out.txt"))
c = s["strategy_choice"]
sys.exit(not eval(sys.argv[1]))
END
}
