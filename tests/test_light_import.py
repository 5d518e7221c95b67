"""`import holdfast` costs a hook a few milliseconds: it loads its own names and nothing else."""

from __future__ import annotations

import subprocess
import sys

from patience import WAIT_SECONDS


def test_importing_the_package_loads_nothing_that_is_not_its_own_or_pythons() -> None:
    program = "import sys; before = set(sys.modules); import holdfast; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=WAIT_SECONDS, check=True
    )

    loaded = run.stdout.split()
    assert [name for name in loaded if name.startswith("holdfast")] == ["holdfast"]
    assert {name.split(".")[0] for name in loaded} - {"holdfast"} <= sys.stdlib_module_names
