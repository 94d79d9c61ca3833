# First contact: what a fresh machine gets from the README's first lines.
strobe_pytest(first/configure first/test_configure.py 120)
