# SPDX-License-Identifier: GPL-2.0-or-later
"""What the soaks share: a load that counts its operations, a fast check of files, and the resources of the daemon."""
import csv
import glob
import os

from lib import account, rows
from lib.ctl import Ctl
from lib.load import Load
from lib.registry import Failure, check, equal, wait_for

TICK = os.sysconf('SC_CLK_TCK')


def note(text):
    print('# ' + text, flush=True)


def begin(world):
    """A daemon of the level that is asked for, which ends with the soak."""
    daemon = world.new_daemon(level=world.level_asked)
    world.undo.callback(daemon.stop)
    return daemon, Ctl(world.ctl_program, daemon.socket)


# Files.

def cut(path):
    """Complete lines of a file, without line feeds, and the rest after the last line feed."""
    *lines, rest = rows.content(path).split(b'\n')
    return lines, rest


def fields(line):
    if b'"' not in line:
        return line.split(b',')
    return next(csv.reader([line.decode('utf-8')], strict=True))


def judge_lines(path, lines):
    """Every line has the columns of the first; how many rows there are."""
    width = lines[0].count(b',')
    for number, line in enumerate(lines, 1):
        if line.count(b',') != width and len(fields(line)) != width + 1:
            raise Failure('%s:%d: not a whole row' % (path, number), repr(line[:200]))
    return len(lines) - 1


def whole(path):
    """How many rows a closed segment has, all of them whole."""
    lines, rest = cut(path)
    check(lines, '%s has no header' % path)
    check(not rest, '%s ends within a row' % path, repr(rest[-200:]))
    return judge_lines(path, lines)


def segment_true(output, segment):
    path = account.segment_path(output, segment)
    account.checksum_true(segment, rows.content(path), path)
    account.stored_true(output, segment)
    equal(segment['rows'], whole(path), 'rows of %s in the manifest' % path)
    return path


def closed(output):
    """Without the .gz that may come at any time."""
    return sorted({path.removesuffix('.gz') for ending in ('', '.gz')
                   for path in glob.glob(output + '/*/*.csv' + ending)})


def trace_true(output, final):
    """Status, manifest and files of an ended session tell the same; the accounts."""
    equal(rows.parts(output), [], 'segments not closed')
    accounts = account.balanced(final, 'status of ' + output)
    document = rows.manifest(output)
    told = account.balanced(document, 'manifest of ' + output)
    segments = account.segment_list(document)
    named = sorted(segment_true(output, one) for one in segments)
    equal(named, closed(output), 'segments that the manifest names, and those that are there')
    for stream, one in accounts.items():
        for key in ('emitted', 'written', 'lost'):
            equal(told[stream][key], one[key], '%s, manifest, %s %s' % (output, stream, key))
        equal(sum(part['rows'] for part in segments if part.get('stream') == stream), one['written'],
              '%s, rows in the files of %s' % (output, stream))
    return accounts


def lost(one):
    return {where: count for where, count in one['lost'].items() if count}


def offsets(output, stream='vfs'):
    """The offsets of all rows, in the order of the files."""
    found = []
    for path in closed(os.path.join(output)):
        if os.path.basename(os.path.dirname(path)) == rows.FOLDERS[stream]:
            lines, _ = cut(path)
            column = lines[0].split(b',').index(b'offset')
            found += [int(line.split(b',', column + 1)[column]) for line in lines[1:]]
    return found


def no_duplicates(found, where):
    twice = len(found) - len(set(found))
    check(not twice, '%s: %d rows are there twice' % (where, twice))


# A session that must lose nothing, whatever happens to others.

class Witness:
    """Records a load of its own; in the end every operation of it is a row."""

    def __init__(self, world, ctl, rate=2000):
        self.load = Load(world, rate)
        self.session = world.session('--vfs', '--pid', self.load.pid, '--operation', 'READ,WRITE',
                                     name='witness', ctl=ctl, lossless=False).start()
        self.load.go()

    def end(self):
        done = self.load.end()
        self.session.running = False
        final = self.session.ctl.json('stop', 'witness')
        one = trace_true(self.session.output, final)['vfs']
        equal(lost(one), {}, 'rows that the witness lost')
        equal(one['written'], done, 'rows of the witness, and what it did')
        equal(sorted(offsets(self.session.output)), list(range(done)), 'offsets of the witness')
        return done


# The daemon as the kernel sees it.

def heap(pid):
    """Memory of its own, in KiB: without rings that it shares with the kernel, and programs."""
    with open('/proc/%d/status' % pid, encoding='ascii') as file:
        return int(next(line for line in file if line.startswith('RssAnon')).split()[1])


def processor(pid):
    """Seconds of processor time."""
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        words = file.read().rsplit(')', 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICK


def opened(pid):
    folder = '/proc/%d/fd' % pid
    return sorted(os.readlink(os.path.join(folder, number)) for number in os.listdir(folder))


def descriptors(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def attached(ctl):
    """Programs on hooks, as the daemon says."""
    checks = ctl.json('doctor', code=(0, 1, 6))['checks']
    return int(next(one['detail'] for one in checks if one['check'] == 'programs attached'))


def at_rest(daemon, ctl):
    """Descriptors and memory once nothing is attached."""
    wait_for('programs to be detached after the last session', lambda: not attached(ctl), pause=0.2)
    return descriptors(daemon.process.pid), heap(daemon.process.pid)
