"""Makes the helpers of the tests importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
# Last, so that `tamis` is the installed package and not the folder of sources.
sys.path.append(str(Path(__file__).parents[1]))
