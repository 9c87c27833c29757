"""Prints a filter for each failed test of a JUnit report of swift test, one per line; fails if they are none or too many.

python3 deploy/failed-tests.py REPORT LIMIT
"""

import re
import sys
import xml.etree.ElementTree

report = xml.etree.ElementTree.parse(sys.argv[1])
failed = [case for case in report.iter("testcase") if case.find("failure") is not None]
if not 1 <= len(failed) <= int(sys.argv[2]):
    sys.exit(f"{len(failed)} tests failed, and {sys.argv[2]} more may be repeated: none is repeated")
for case in failed:
    print("^" + re.escape(f"{case.get('classname')}/{case.get('name')}"))
