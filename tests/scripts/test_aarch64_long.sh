# Everything compiles for AArch64, and its kernels equal plain C there (under qemu-user).
set -eu
case $(uname -m) in
aarch64 | arm64)
    echo "skip: this is an AArch64 machine: its own build has these tests"
    exit 77
    ;;
esac
if [ -n "$DROVE_SANITIZE" ]; then
    echo "skip: the sanitizers do not run under the emulator"
    exit 77
fi
"$DROVE_SOURCE_DIR/scripts/test-aarch64"
