# The walks of docs/adding-to-the-report.md on a copy of the tree.
strobe_pytest(walk/report walk/test_report.py 600)
if(TEST walk/report)
  set_tests_properties(walk/report PROPERTIES PROCESSORS 2)
endif()
