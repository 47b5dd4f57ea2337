# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs built with AddressSanitizer and UndefinedBehaviorSanitizer: what these find fails the test that ran then."""
import glob
import os
import subprocess

from lib.registry import Failure

SUPPRESSED = os.path.join(os.path.dirname(os.path.realpath(__file__)), 'sanitizers.supp')


class Sanitizers:
    """`folder` is where each process, whoever's it is, leaves a file of what was found in it."""

    def __init__(self, folder):
        self.folder = folder
        self.told = set()
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
        reports = 'log_path=%s/of' % folder
        os.environ.update(ASAN_OPTIONS=reports, UBSAN_OPTIONS=reports + ':print_stacktrace=1',
                          LSAN_OPTIONS='suppressions="%s":print_suppressions=0' % SUPPRESSED)

    def check(self):
        """Fails where something was found since it was last called."""
        found = set(glob.glob(self.folder + '/*')) - self.told
        self.told |= found
        lines = []
        for path in sorted(found):
            with open(path, encoding='utf-8', errors='replace') as file:
                lines += file.read().splitlines()
        if lines:
            raise Failure('the sanitizers found:', *lines)


def runtime(program):
    """What has to be preloaded before anything else where the program is built with AddressSanitizer, as a list."""
    libraries = subprocess.run(['ldd', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split()[0] for line in libraries.splitlines() if line.strip().startswith('libasan.')]
