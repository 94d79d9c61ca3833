# Every command and code block of README.md and docs/*.md.
strobe_pytest(docs/blocks docs/test_docs.py 600 FYAML SQLITE ZLIB ZSTD EVENT NCURSES)
