#!/bin/sh
# run-in-scratch.sh FOLDER COMMAND...: make FOLDER anew and empty, and run the command in it.
set -eu
folder=$1
shift
case $folder in
*/scratch/*) ;;
*) echo "run-in-scratch.sh: '$folder' is not inside a scratch folder" >&2; exit 2 ;;
esac
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
exec "$@"
