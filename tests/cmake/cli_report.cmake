# `strobe report` as a user types it.
strobe_pytest(cli/report cli/test_report.py 120 SQLITE ZLIB ZSTD)
# Every command: tests/cli/<command>/<case>.case. `make accept` takes what they print now.
strobe_pytest(cli/cases cli/test_cases.py 300 FYAML SQLITE ZLIB ZSTD EVENT NCURSES)
