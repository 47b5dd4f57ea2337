# SPDX-License-Identifier: GPL-2.0-or-later
"""`iotracectl amplification`, beside something that is done."""
import itertools
import json
import signal
import subprocess
import threading

from lib.registry import PATIENCE, Failure, equal


class Counting:
    """
    with Counting(ctl, '--by', 'process') as counting: ...; then counting.until(condition). A thread reads what the view shows, as
    the daemon lets go of a view that nobody reads for long.
    """

    def __init__(self, ctl, *options):
        self.ctl, self.options = ctl, options
        self.reply, self.line, self.fresh = None, None, threading.Condition()

    def __enter__(self):
        self.view = subprocess.Popen(self.ctl.command('amplification', '--watch=200ms', '--json', *self.options),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.next()
        return self

    def __exit__(self, kind, value, trace):
        self.view.send_signal(signal.SIGINT)
        self.reader.join()
        self.view.communicate()
        if kind is None:
            equal(self.view.returncode, 0, 'exit code of the view')

    def read(self):
        for line in itertools.chain(self.view.stdout, ['']):
            with self.fresh:
                self.line = line
                self.fresh.notify()

    def next(self):
        """The last reading, which nobody has had before."""
        with self.fresh:
            self.fresh.wait_for(lambda: self.line is not None, PATIENCE)
            line, self.line = self.line, None
        if not line:
            self.view.kill()
            raise Failure('the view ended', *self.view.communicate()[1].splitlines())
        self.reply = json.loads(line)
        return self.reply

    def groups(self):
        return {one['name'] or one['kind']: one for one in self.reply['groups']}

    def until(self, name, condition, most=100):
        """The group of that name when it is as it has to be, which is some readings after what was done."""
        group = None
        for _ in range(most):
            self.next()
            group = self.groups().get(name)
            if group and condition(group):
                return group
        raise Failure('%s is not counted as it has to be' % name, *told(group),
                      'there are: %s' % ', '.join(self.groups()))


def told(group):
    for flow in ('read', 'write'):
        for layer, one in (group or {}).get(flow, {}).items():
            yield '%s %s: %s' % (flow, layer, one)


def operations(group, flow, layer):
    return group[flow][layer]['operations']


def size(group, flow, layer):
    return group[flow][layer]['bytes']


def factor(group, flow, formula='by_bytes'):
    return group[flow][formula]['value']


def consistent(group):
    """Both formulas are quotients of the counts beside them."""
    for flow in ('read', 'write'):
        calls, done = operations(group, flow, 'application'), size(group, flow, 'application')
        if calls:
            equal('%.4f' % ((operations(group, flow, 'vfs') + operations(group, flow, 'device')) / calls),
                  '%.4f' % factor(group, flow, 'by_operations'), 'by operations')
        else:
            equal(factor(group, flow, 'by_operations'), None, 'by operations, without calls')
        if done and factor(group, flow) is not None:
            equal('%.4f' % (size(group, flow, 'device') / done), '%.4f' % factor(group, flow), 'by bytes')
        elif not done:
            equal(factor(group, flow), None, 'by bytes, without bytes')
