# The documentation checker reports a path, a link, a part of a page and a flag that do not exist, with file and line, and
# nothing else.
set -eu
mkdir -p tree/src/base tree/docs/use tree/cli tree/python
echo 'static const char *const name = "batch_size";  /* docs/gone.md */' >tree/src/base/x.c
echo 'int unused;' >tree/cli/main.c
{
    echo 'See `src/base/x.c`, `src/*/x.c`, `src/<folder>/x.c` and [this](docs/page.md).'
    echo 'Use --batch-size; cmake --build is not ours.'
    echo 'Not there: `src/base/y.c`.'
    echo 'Nor [that](docs/lost.md#part), nor --btach-size.'
    echo 'A part: [there](docs/page.md#a-part-of-it), [not there](docs/page.md#parts).'
} >tree/README.md
echo 'Back to [the start](../README.md), https://example.org/ is not looked at.' >tree/docs/page.md
printf '## A `part` of it\n\n[below](#gone), [here](#a-part-of-it), [up](../README.md#top)\n' >>tree/docs/page.md
echo '# docs/use/gone.md' >tree/python/x.py

if DROVE=/nonexistent "$DROVE_SOURCE_DIR/scripts/check-docs" tree >report.txt; then
    echo "nothing was reported"
    exit 1
fi
cat report.txt
cat >expected.txt <<END
README.md:3: src/base/y.c does not exist
README.md:4: --btach-size is no option (according to the sources)
README.md:4: docs/lost.md does not exist
README.md:5: docs/page.md#parts: the page has no such part
docs/page.md:4: #gone: the page has no such part
docs/page.md:4: ../README.md#top: the page has no such part
python/x.py:1: docs/use/gone.md does not exist
src/base/x.c:1: docs/gone.md does not exist
END
grep -v '^check-docs' report.txt | LC_ALL=C sort | diff expected.txt -
