# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the programs of a build are, and running them."""
import os
import re
import subprocess

PATIENCE = 600
HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class Missing(Exception):
    """A program or a feature that is not there."""


class Build:
    def __init__(self, folder):
        at = lambda *names: os.path.join(os.path.abspath(folder), *names)
        self.folder = at()
        self.daemon, self.ctl = at('daemon', 'iotracerd'), at('ctl', 'iotracectl')
        self.bench = at('tests', 'bench')
        self.pread = os.path.join(self.bench, 'bench_pread')
        self.empty = os.path.join(self.bench, 'bench_empty')
        self.empty_object = os.path.join(self.bench, 'bench_empty.bpf.o')
        self.least_object = os.path.join(self.bench, 'bench_least.bpf.o')
        self.layers = at('tests', 'live', 'iotr-layers')

    def absent(self):
        return [path for path in (self.daemon, self.ctl, self.pread, self.empty, self.empty_object, self.least_object)
                if not os.access(path, os.R_OK)]


def parse_pread(text):
    """What bench_pread printed, as a dictionary."""
    found = re.search(r'^calls (\d+) seconds (\S+) cpu (\S+) min (\S+) quartile (\S+) median (\S+)$', text, re.M)
    if not found:
        raise Missing('it printed no figures')
    names = ('calls', 'seconds', 'cpu', 'min', 'quartile', 'median')
    return {name: float(value) for name, value in zip(names, found.groups())}


def run_pread(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    if done.returncode:
        raise Missing((done.stderr.strip().splitlines() or ['exit %d' % done.returncode])[-1])
    return parse_pread(done.stdout)


class Producer:
    """A bench_pread that waits for go(), so that its pid is known before its first call."""

    def __init__(self, build, *arguments):
        self.process = subprocess.Popen([build.pread, '-w', *map(str, arguments)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def go(self):
        self.process.stdin.close()
        self.process.stdin = None

    def running(self):
        return self.process.poll() is None

    def figures(self):
        return parse_pread(self.process.communicate()[0])

    def end(self):
        if self.running():
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
