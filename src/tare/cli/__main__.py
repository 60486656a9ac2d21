"""`python -m tare.cli` is `tare`."""

import sys

from tare.cli.main import main

sys.exit(main())
