# SPDX-License-Identifier: GPL-2.0-or-later
"""summary, show: what they say of a real trace is what adding up its rows gives, compressed or not, running or ended; and
the filters of show choose the rows that those of a session do."""
import collections
import json
import os

from lib import rows
from lib.registry import check, equal, test, wait_for

BYTES, LATENCY = {'vfs': 'bytes_completed', 'block': 'size'}, {'vfs': ('latency_ns', 1), 'block': ('latency_ms', 1e6)}
ERROR = {'vfs': 'errno', 'block': 'error'}


def do_work(folder, turns=300):
    for number in range(turns):
        path = os.path.join(folder, 'file,"%d"' % (number % 7))
        with open(path, 'wb') as file:
            file.write(b'x' * (number % 5000))
            if number % 50 == 0:
                os.fsync(file.fileno())
        with open(path, 'rb') as file:
            file.read()
        check(not os.path.exists(path + '.none'), 'the file is there')


def added_up(folder, stream):
    """Rows, errors and latencies by operation, from the rows themselves."""
    found = collections.defaultdict(lambda: [0, 0, []])
    for row in rows.read(folder, stream):
        one = found[row['operation']]
        one[0] += 1
        one[1] += row[ERROR[stream]] not in ('', '0')
        if row[LATENCY[stream][0]]:
            one[2].append(round(float(row[LATENCY[stream][0]]) * LATENCY[stream][1]))
    return found


def percentile(values, percent):
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def judge(document, folder, stream):
    truth = added_up(folder, stream)
    said = {one['name']: one for one in document['streams'][stream]['operations']}
    equal(set(said), set(truth), 'operations of ' + stream)
    for name, (count, errors, latencies) in truth.items():
        equal((said[name]['rows'], said[name]['errors']), (count, errors), 'rows and errors of ' + name)
        for percent in (50, 90, 99):
            real, told = percentile(latencies, percent), said[name]['latency']['p%d_ns' % percent]
            check(abs(told - real) <= document['latency_error'] * real + 1,
                  'p%d of %s: %d, and not %d' % (percent, name, told, real))
        equal(said[name]['latency']['max_ns'], max(latencies), 'max of ' + name)


def files_judged(document, folder):
    """By the outermost stream alone, which is vfs, and not by sums of a call and the requests that it becomes."""
    times = collections.Counter()
    for row in rows.read(folder, 'vfs'):
        if row['filename'] and row[LATENCY['vfs'][0]]:
            times[row['filename']] += round(float(row[LATENCY['vfs'][0]]) * LATENCY['vfs'][1])
    equal([one['time_ns'] for one in document['files']], [time for _, time in times.most_common(5)], 'time by file')


@test(host_only=True)
def summary_is_of_one_layer(world):
    """2 MiB that are written, synchronised, dropped and read are 2 and 2, whichever streams are recorded beside; and the report's
    amplification is of calls and of leaf disks."""
    size, data = 2 << 20, os.urandom(1 << 20)
    for streams in (('--vfs',), ('--vfs', '--block'), ('--vfs', '--cache', '--block', '--pagefault')):
        path = world.path('layers%d' % len(streams))
        with world.session(*streams, '--pid', os.getpid(), '--compress', 'none') as session:
            with open(path, 'wb', buffering=0) as file:
                file.write(data)
                file.write(data)
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with open(path, 'rb', buffering=0) as file:
                while file.read(1 << 18):
                    pass
        document = world.ctl.json('summary', session.output)
        for kind in ('files', 'processes'):
            found = [one for one in document[kind] if one.get('name') == path or one.get('pid') == os.getpid()]
            equal([(one['written_bytes'], one['read_bytes']) for one in found], [(size, size)], '%s with %s' % (kind, streams))
        if '--block' not in streams:
            continue
        below = [row for row in rows.read(session.output, 'block') if row['operation'] == 'WRITE' and row['leaf'] == '1']
        disks = collections.Counter()
        for row in rows.read(session.output, 'block'):
            if row['operation'] == 'WRITE':
                disks[row['disk']] += int(row['size'])
        equal({one['disk']: one['written_bytes'] for one in document['devices'] if one['written_bytes']}, dict(disks),
              'devices by requests alone')
        page = world.path('layers.html')
        world.ctl.exits(0, 'report', session.output, '--output', page, '--force')
        with open(page, encoding='utf-8') as file:
            told = json.loads(file.read().split('id="document">')[1].split('</script>')[0])['amplification']['all']
        equal((told['call_write']['bytes'], told['call_read']['bytes']), (size, size), 'application')
        equal(told['disk_write']['bytes'], sum(int(row['size']) for row in below), 'disks that are made of no others')


@test(host_only=True)
def summary_of_real_rows(world):
    """Of CSV and of JSON lines, of plain and of compressed files."""
    for options in (('--compress', 'none'), ('--compress', 'gzip'), ('--format', 'jsonl')):
        folder = world.make('work%d' % len(options[1]))
        with world.session('--vfs', '--block', '--pid', os.getpid(), *options) as session:
            do_work(folder)
            world.ctl.json('rotate', session.name)
            do_work(folder)
        for path in rows.segments(session.output, 'vfs'):
            check('--format' in options or b'"' not in rows.content(path), 'no field of CSV is quoted')
        document = world.ctl.json('summary', session.output)
        if '--format' in options:
            equal(document['rows'], sum(one['written'] for one in session.accounts.values()), 'rows read')
            continue
        for stream in ('vfs', 'block'):
            if document['streams'][stream]['rows']:
                judge(document, session.output, stream)
        files_judged(document, session.output)
        equal(document['bad_rows'], 0, 'bad rows')
        equal(document['processes'][0]['pid'], os.getpid(), 'the process')
        world.ctl.exits(0, 'summary', session.output)


@test(host_only=True)
def summary_while_it_runs(world):
    """A file that is being written is read as far as it goes."""
    folder = world.make('running')
    with world.session('--vfs', '--pid', os.getpid()) as session:
        do_work(folder)
        wait_for('rows of a running session', lambda: world.ctl.json('summary', session.output)['rows'] >= 1500)
        document = world.ctl.json('summary', session.output)
        equal((document['state'], document['bad_rows'], document['problems']), ('running', 0, []), 'while it runs')


FILTERS = (('--errors',), ('--min-latency', '20us'), ('--min-size', '3000'), ('--operation', 'open,vfs.READ,fsync'),
           ('--command', 'COMMAND,sh'), ('--path', 'FOLDER/inside'), ('--min-size', '10', '--operation', 'write'))


def shown(world, folder, *options):
    """Rows that show prints, by what tells them apart."""
    done = world.ctl.exits(0, 'show', folder, '--vfs', '--json', *options)
    return sorted((row['mono_ns'], row['tid'], row['operation'], row['filename'])
                  for row in map(json.loads, done.stdout.splitlines()))


@test(host_only=True)
def show_filters_as_sessions(world):
    """What a session with a filter records is what show finds with the same words in one without."""
    folder = world.make('filtered')
    os.mkdir(os.path.join(folder, 'inside'))
    filtered = []
    with open('/proc/self/comm', encoding='ascii') as file:
        command = file.read().strip()
    with world.session('--vfs', '--pid', os.getpid()) as whole:
        for options in FILTERS:
            words = [word.replace('FOLDER', folder).replace('COMMAND', command) for word in options]
            with world.session('--vfs', '--pid', os.getpid(), *words) as session:
                do_work(folder, 60)
                do_work(os.path.join(folder, 'inside'), 60)
            times = [row['mono_ns'] for row in map(json.loads, world.ctl.exits(
                0, 'show', session.output, '--json').stdout.splitlines())]
            session.words, session.times = words, times
            filtered.append(session)
    for session in filtered:
        check(session.times == sorted(session.times), 'the rows are in the order of time')
        truth = shown(world, session.output)
        found = shown(world, whole.output, *session.words)
        check(truth, 'rows of %s' % ' '.join(session.words))
        check(set(truth) <= set(found), 'show %s misses rows' % ' '.join(session.words),
              *map(str, sorted(set(truth) - set(found))[:5]))
        # Of the time of that session no more than it has.
        within = [row for row in found if truth[0][0] <= row[0] <= truth[-1][0]]
        equal(within, truth, 'what show %s finds' % ' '.join(session.words))


@test(host_only=True)
def compare_of_real_rows(world):
    """What a second recording does more, no longer and for the first time is told, and what it does as before is not."""
    path, outputs = os.path.join(world.make('compared'), 'file'), []
    for reads_each, syncs, removals in ((1, 200, 0), (5, 0, 200)):
        with world.session('--vfs', '--pid', os.getpid(), '--operation', 'READ,WRITE,FSYNC,UNLINK') as session:
            for step in range(400):
                fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                os.pwrite(fd, b'x' * 100, 0)
                for _ in range(reads_each):
                    os.pread(fd, 100, 0)
                if step < syncs:
                    os.fsync(fd)
                if step < removals:
                    os.unlink(path)
                os.close(fd)
        outputs.append(session.output)
    document = world.ctl.json('compare', *outputs)
    found = {one['name']: one for one in document['operations']}
    equal([found['FSYNC']['a']['rows'], found['FSYNC']['b']['rows']], [200, 0], 'rows of FSYNC')
    equal([found['UNLINK']['a']['rows'], found['UNLINK']['b']['rows']], [0, 200], 'rows of UNLINK')
    check('gone' in found['FSYNC']['different'], 'FSYNC is gone', found['FSYNC'])
    check('new' in found['UNLINK']['different'], 'UNLINK is new', found['UNLINK'])
    ratio = found['READ']['rows']['ratio'] / found['WRITE']['rows']['ratio']  # whatever the time that each took
    check(4.5 < ratio < 5.5, 'five times as many reads', found['READ'], found['WRITE'])
    world.ctl.exits(0, 'compare', *outputs)
