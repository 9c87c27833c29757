"""Prints a filter for each failed test of a JUnit report of swift test, one per line; fails if they are none or many."""

import re
import sys
import xml.etree.ElementTree

report = xml.etree.ElementTree.parse(sys.argv[1])
failed = [case for case in report.iter("testcase") if case.find("failure") is not None]
if not 1 <= len(failed) <= 3:
    sys.exit(f"{len(failed)} tests failed: none is repeated")
for case in failed:
    print("^" + re.escape(f"{case.get('classname')}/{case.get('name')}"))
