# `strobe report` as a user types it.
strobe_pytest(cli/report cli/test_report.py 120 SQLITE ZLIB ZSTD)
