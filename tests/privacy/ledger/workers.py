"""Many processes that charge one budget at once, half of which are killed.

    python -m tests.privacy.ledger.workers LEDGER FOLDER

Each process writes a line to its own file in FOLDER for every charge that returned. Those that are
to be killed never stop by themselves, and are killed one after another as charges come in, so that
it does not depend on the speed of the machine how many are. Prints how many were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from itertools import count
from pathlib import Path

from tamis.privacy.errors import BudgetRefused
from tamis.privacy.guarantee import Guarantee
from tamis.privacy.ledger import open_ledger

WORKERS = 32
SIZES = (0.02, 0.03, 0.05)


def work(where: str, log: Path, forever: bool) -> None:
    """Charges until the budget is used up, or, forever, until it is killed."""
    file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with open_ledger(where) as ledger:
        for size in (random.choice(SIZES) for _ in count()):
            try:
                entry = ledger.charge("shared", Guarantee(size, 1e-9), log.stem)
            except BudgetRefused:
                if size == min(SIZES) and not forever:
                    return
                continue
            os.write(file, f"{entry.number} {entry.digest}\n".encode())


def start(where: str, log: Path, forever: bool) -> int:
    if (worker := os.fork()) == 0:
        random.seed(log.stem)
        code = 1
        try:
            work(where, log, forever)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return worker


def charges(folder: Path) -> int:
    return sum(log.read_bytes().count(b"\n") for log in folder.glob("*.log"))


def main(where: str, folder: Path) -> int:
    workers = [start(where, folder / f"{n}.log", n < WORKERS // 2) for n in range(WORKERS)]
    for killed, worker in enumerate(workers[: WORKERS // 2]):
        while charges(folder) < killed:
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.01))
        os.kill(worker, signal.SIGKILL)
    codes = [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers]
    print(codes.count(-signal.SIGKILL))  # noqa: T201
    return sum(code not in (0, -signal.SIGKILL) for code in codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
