"""Print what tests in a browser lack, if anything: ``python -m tests.browser``."""

import sys

from tests.browser.needs import missing

if missing():
    sys.exit(missing())
