# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recorded 1-byte pread costs the program that makes it."""
import functools
import os

from lib import machine, tracers
from lib.daemon import Daemon
from lib.programs import Missing, run_pread
from lib.table import Table, bar, median, note

RELEASE = 3  # seconds in which a daemon lets go of hooks that no session uses any more
PAUSE = 1000  # us between batches, so that the recorder keeps up
MOST = 64  # sessions at once
BARS = (('bpftrace', 15), ('perf trace', 50), ('strace', 200))


class Variant:
    """One way to watch, its samples of every round, and why there are none."""

    basis = 'lower quartile of the quietest round'
    processes = 1  # of a round

    def __init__(self, name, tracer, calls=100, batches=200, options=()):
        self.name, self.tracer, self.calls, self.batches = name, tracer, calls, batches
        self.options = options  # of the program that makes the calls
        self.samples, self.why = [], None

    def measure(self, world):
        command = [world.build.pread, *self.options, '-c', str(world.cpu), '-n', str(self.calls),
                   '-b', str(self.batches), '-p', str(PAUSE), world.data]
        try:
            with self.tracer() as words:
                return [run_pread(words + command) for _ in range(self.processes)]
        except Missing as error:
            self.why = str(error)
            return []

    def figure(self):
        """The smallest sample: anything that disturbs a round makes it larger."""
        return min(sample['quartile'] for sample in self.samples) if self.samples else None


class Least(Variant):
    """For ratios of small figures: other work of the machine can only add."""

    basis = 'least of all batches'

    def figure(self):
        return min(sample['min'] for sample in self.samples) if self.samples else None


class Own(Variant):
    """CPU time of the program alone, where the recorder runs on the same CPU."""

    basis = 'CPU time of a call in the quietest round'

    def figure(self):
        return min(sample['cpu'] / sample['calls'] * 1e9 for sample in self.samples) if self.samples else None


def peers(world):
    front = functools.partial(functools.partial, tracers.in_front, world)
    record = os.path.join(world.folder, 'perf.data')
    events = 'syscalls:sys_enter_pread64,syscalls:sys_exit_pread64'
    return [
        Variant('perf record', front('perf', 'record', '-q', '-e', events, '-o', record, '--')),
        Variant('bpftrace', functools.partial(tracers.bpftrace, world, tracers.PREAD_SCRIPT)),
        Variant('perf trace', front('perf', 'trace', '-e', 'pread64', '-o', '/dev/null', '--'), 50, 50),
        Variant('strace', front('strace', '-e', 'pread64', '-o', '/dev/null', '--'), 20, 30),
    ]


def measure(world, variants):
    """Rounds with all variants in turn; a round during which others traced system calls counts only if all were so."""
    rounds = []
    for _ in range(world.rounds):
        quiet = machine.await_quiet()
        found = [(variant, variant.measure(world)) for variant in variants if not variant.why]
        rounds.append((quiet and machine.await_quiet(RELEASE), found))
    clean = [found for quiet, found in rounds if quiet]
    for found in clean or [found for _, found in rounds]:
        for variant, samples in found:
            variant.samples += samples
    if len(clean) < len(rounds):
        note('%d of %d rounds while others traced system calls: %s' % (
            len(rounds) - len(clean), len(rounds), 'left out' if clean else 'taken, as there are no others'))


def show(title, variants):
    base, floor = variants[0].figure(), variants[1].figure()
    table = Table(title + ', ns (%s)' % variants[0].basis, '', 'call', 'least',
                  'median', 'added', 'of empty pair')
    added = {}
    for variant in variants:
        if not variant.samples:
            table.add(variant.name, None, None, None, None, None)
            continue
        more = variant.figure() - base
        added[variant.name] = more
        ratio = more / (floor - base) if floor and variant is not variants[0] else None
        table.add(variant.name, variant.figure(), min(one['min'] for one in variant.samples),
                  median([one['median'] for one in variant.samples]),
                  None if variant is variants[0] else more, ratio)
    table.show()
    for variant in variants:
        if variant.why:
            note('%s is missing: %s' % (variant.name, variant.why))
    return added


def ratio(added, over, under):
    return added[over] / added[under] if over in added and under in added else None


def part(world):
    lost = []
    with Daemon(world) as daemon:
        variants = [
            Variant('untraced', tracers.nothing),
            Variant('empty pair', functools.partial(tracers.empty_programs, world, 'tracepoint')),
            Variant('least row', functools.partial(tracers.least_programs, world, 'tracepoint')),
            Variant('iotracer', functools.partial(tracers.iotracer, daemon, 'vfs', lost)),
        ] + peers(world)
        measure(world, variants)
    added = show('Cost of a row: pread of 1 byte, tracer on another CPU', variants)
    note('rows lost by iotracer while measured: %d' % sum(lost))
    bar('iotracer, of the empty pair', ratio(added, 'iotracer', 'empty pair'), '<=', 3.0, 'x')
    for peer, limit in BARS:
        bar('%s, of iotracer' % peer, ratio(added, peer, 'iotracer'), '>=', float(limit), 'x')


NOT_RECORDED = ('sampled out', "another pid's", 'rejected by %d sessions' % MOST)


def function_here(world):
    """The best level of this kernel, without peers: rows, and what makes none."""
    lost = []
    with Daemon(world) as daemon:
        checks = daemon.checks()
        level = checks['level']
        hooks = 'classic' if 'preempts' in checks['function hooks'] else level
        of_sessions = functools.partial(functools.partial, tracers.sessions, daemon)
        variants = [
            Variant('untraced', functools.partial(tracers.without, daemon), 50),
            Variant('empty pair', functools.partial(tracers.empty_programs, world, hooks), 50),
            Variant('least row', functools.partial(tracers.least_programs, world, hooks), 50),
            Variant('iotracer', functools.partial(tracers.iotracer, daemon, 'vfs', lost), 50),
            Variant('two sessions', of_sessions(2), 50),
        ] + [Variant(name, tracer, 50) for name, tracer in zip(NOT_RECORDED, (
            functools.partial(tracers.sampled_out, daemon, 'vfs'), of_sessions(1, '--pid', '1'),
            of_sessions(MOST, '--pid', '1')))]
        measure(world, variants)
    added = show('Cost of a row at level %s: pread of 1 byte' % level, variants)
    note('rows lost by iotracer while measured: %d' % sum(lost))
    bar('iotracer, of the empty pair', ratio(added, 'iotracer', 'empty pair'), '<=', 3.0, 'x')
    bar('two sessions, of one', ratio(added, 'two sessions', 'iotracer'), '<=', 1.1, 'x')
    for name in NOT_RECORDED:
        bar('%s, of the empty pair' % name, ratio(added, name, 'empty pair'), '<=', 1.3, 'x')
