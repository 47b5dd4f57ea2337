# SPDX-License-Identifier: GPL-2.0-or-later
"""iotr-trigger: its table, its runs and the rows it says must come."""
import json
import os
import subprocess

from lib.registry import PATIENCE, Failure, check


class Expected:
    """What one run wrote to --expect."""

    def __init__(self, path):
        self.windows, self.rows, self.missing = [], [], []
        with open(path, encoding='ascii') as file:
            for line in file:
                self.add(json.loads(line))

    def add(self, value):
        if 'window' in value:
            self.windows.append(value)
        elif 'missing' in value:
            self.missing.append(value['missing'])
        else:
            self.rows.append(value)


class Trigger:
    def __init__(self, program):
        self.program = program

    def table(self):
        done = subprocess.run([self.program, '--list'], capture_output=True, text=True, check=True)
        return {words[0]: words[1].split(',') if len(words) > 1 else []
                for words in (line.split() for line in done.stdout.splitlines())}

    def begin(self, name, folder, *options):
        """Started and waiting before its first call; `go` lets it run."""
        os.makedirs(folder, exist_ok=True)
        process = subprocess.Popen(
            [self.program, '--wait', '--expect', folder + '.expect', *options, name, folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = process.stdout.readline()
        check(line == b'READY\n', 'trigger %s did not get ready' % name)
        return process

    def go(self, process, name, folder):
        _, errors = process.communicate(b'\n', timeout=PATIENCE)
        if process.returncode:
            raise Failure('trigger %s ended with %d' % (name, process.returncode),
                          errors.decode(errors='replace').strip())
        return Expected(folder + '.expect')

    def run(self, name, folder, *options):
        process = self.begin(name, folder, *options)
        return process.pid, self.go(process, name, folder)

    def block(self, device, *operations):
        """Operations on a block device; what each did."""
        done = subprocess.run([self.program, '--block', device, *operations], text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        check(done.returncode == 0, 'block operations ended with %d' % done.returncode,
              done.stderr.strip())
        return [json.loads(line) for line in done.stdout.splitlines()]
