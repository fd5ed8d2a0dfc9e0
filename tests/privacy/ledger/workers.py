"""Many processes that charge one budget at once, half of which are killed.

    python -m tests.privacy.ledger.workers LEDGER FOLDER

Each process writes a line to its own file in FOLDER for every charge that returned. Prints how many
were killed before they were done.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from tamis.privacy.errors import BudgetRefused
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import open_ledger

WORKERS = 32
SIZES = (0.02, 0.03, 0.05)


def work(where: str, log: Path) -> None:
    """Charges until the budget is used up."""
    file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with open_ledger(where) as ledger:
        for size in (random.choice(SIZES) for _ in range(1000)):
            try:
                entry = ledger.charge("shared", Guarantee(size, 1e-9), log.stem)
            except BudgetRefused:
                if size == min(SIZES):
                    return
                continue
            os.write(file, f"{entry.number} {entry.digest}\n".encode())


def start(where: str, log: Path) -> int:
    if (worker := os.fork()) == 0:
        random.seed(log.stem)
        code = 1
        try:
            work(where, log)
            code = 0
        finally:
            os._exit(code)
    return worker


def main(where: str, folder: Path) -> int:
    workers = [start(where, folder / f"{n}.log") for n in range(WORKERS)]
    for worker in random.sample(workers, WORKERS // 2):
        time.sleep(random.uniform(0, 0.08))
        os.kill(worker, signal.SIGKILL)
    codes = [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers]
    print(codes.count(-signal.SIGKILL))  # noqa: T201
    return codes.count(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
