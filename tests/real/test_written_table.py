"""The table of docs/frameworks.md is the one that the other tests' results make."""
import os

import pytest

import matrix
from conftest import BUILD


def test_the_table_of_frameworks_is_current():
    results = matrix.read(os.path.join(BUILD, "real-results"))
    if matrix.missing(results):
        pytest.skip("not run here yet: %s" % ", ".join(matrix.missing(results)))
    assert matrix.table(results) == matrix.in_page(), "tests/real/matrix.py %s/real-results --write" % BUILD
