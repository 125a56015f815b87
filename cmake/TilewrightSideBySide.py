# SPDX-License-Identifier: Apache-2.0
"""Runs commands beside each other, and leaves what each of them said in files.

Called by TilewrightSideBySide.cmake as: python TilewrightSideBySide.py <jobs> <stem>...
<stem>.command has a word in each line; <stem>.errors gets the standard error, <stem>.status the exit
status. Standard output is dropped: what is generated stands in files. Ends with 0 whatever the
commands said. Stopped by Ctrl-C or SIGTERM, it stops the commands that run.
"""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


class Commands:
    """Commands of which some run at one time."""

    def __init__(self):
        self.running = set()
        self.stopped = False

    def run(self, stem):
        """Run the command of a stem to its end."""
        with open(stem + ".command", encoding="utf-8") as file:
            words = file.read().splitlines()
        with open(stem + ".errors", "wb") as errors:
            if self.stopped:
                return
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
            self.running.add(process)
            status = process.wait()
            self.running.discard(process)
        with open(stem + ".status", "w", encoding="utf-8") as file:
            file.write("{}\n".format(status))

    def stop(self, number, frame):
        """End what runs; nothing else is started."""
        self.stopped = True
        for process in list(self.running):
            process.terminate()
        sys.exit(128 + number)


def main():
    """Read the arguments, run the commands."""
    commands = Commands()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, commands.stop)
    with ThreadPoolExecutor(int(sys.argv[1])) as pool:
        for done in [pool.submit(commands.run, stem) for stem in sys.argv[2:]]:
            done.result()


if __name__ == "__main__":
    main()
