# SPDX-License-Identifier: GPL-2.0-or-later
"""iotracectl, and sessions through it."""
import json
import os
import subprocess
import time

from lib import account, rows, varlink
from lib.registry import PATIENCE, Failure, check, equal
from lib.session_options import parameters_of


class Ctl:
    """`direct`: sessions are started without iotracectl, which takes longer than they do where it is emulated."""

    def __init__(self, program, socket=None, direct=False):
        self.program, self.socket, self.direct = program, socket, direct

    def command(self, *args):
        head = [self.program]
        if self.socket:
            head += ['--socket', self.socket]
        return head + [str(arg) for arg in args]

    def run(self, *args, **options):
        """A finished process with text of both outputs."""
        return subprocess.run(self.command(*args), stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE, check=False, **options)

    def exits(self, code, *args):
        done = self.run(*args)
        codes = code if isinstance(code, tuple) else (code,)
        check(done.returncode in codes,
              'iotracectl %s: exit %d, expected %s' % (' '.join(map(str, args)), done.returncode,
                                                       code),
              *(done.stdout + done.stderr).splitlines())
        return done

    def json(self, *args, code=0):
        done = self.exits(code, *args, '--json')
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            raise Failure('iotracectl %s --json: %s' % (' '.join(map(str, args)), error),
                          done.stdout[:400]) from None

    def ask(self, method, **parameters):
        """Without iotracectl: a reply's parameters."""
        return varlink.ask_apart(self.socket, method, **parameters)

    def start(self, name, *options):
        """The reply to Start, of a session that begins, if only with a part of its hooks."""
        parameters = parameters_of(options) if self.direct else None
        if parameters is None:
            return self.json('start', name, *options, code=(0, 6))
        return self.ask('Start', name=name, **parameters)

    def verified(self, folder):
        """What verify finds in a folder: nothing wrong, but perhaps rows that are missing, as the manifest says."""
        document = self.json('verify', folder, code=(0, 1))
        equal(document['problems'], [], 'what verify finds in %s' % folder)
        equal(document['complete'], not document['losses'], 'complete')
        return document


class Session:
    """with Session(...) as s: ...; then s.rows('vfs'). Its end is checked to the last row."""

    def __init__(self, ctl, name, output, options, lossless=True):
        self.ctl, self.name, self.output = ctl, name, output
        self.options, self.lossless = options, lossless
        self.running, self.final, self.accounts = False, None, None

    def start(self):
        self.started = self.ctl.start(self.name, *self.options, '--output', self.output)
        self.running = True
        self.await_whole(self.started['session'])
        return self

    def await_whole(self, status):
        """At function level, until hooks are attached that the first rows lack something without."""
        end = time.monotonic() + PATIENCE
        while any('to' not in one for one in status.get('lacking', [])) and time.monotonic() < end:
            time.sleep(0.01)
            status = self.status()['sessions'][0]

    def stop(self):
        self.running = False
        self.final = self.ctl.ask('Stop', name=self.name)
        self.accounts = account.session_true(self.output, self.final)
        if self.lossless:
            for name, one in self.accounts.items():
                lost = one['lost']
                if isinstance(lost, dict):
                    lost = {key: value for key, value in lost.items() if key != 'unmatched'}
                equal(account.total(lost), 0, 'rows lost of stream %s' % name)
        return self.final

    def status(self):
        return self.ctl.ask('Status', name=self.name)

    def rows(self, stream='vfs'):
        return rows.read(self.output, stream)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        if kind is None and self.running:
            self.stop()
        elif self.running:
            self.ctl.run('stop', self.name)


def own(session_rows, pid):
    """Rows of a process (or several)."""
    pids = {str(one) for one in (pid if isinstance(pid, (set, list, tuple)) else [pid])}
    return [row for row in session_rows if row['pid'] in pids]


def exists(path):
    return bool(path) and os.path.exists(path)
