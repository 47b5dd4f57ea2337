# SPDX-License-Identifier: GPL-2.0-or-later
"""The real service of a machine where the packages are installed and systemd runs."""
import errno
import grp
import json
import os
import re
import socket
import subprocess
import sys
import urllib.request

import test_watchdog as watchdog
from lib import account, reads, rows
from lib.ctl import Ctl, Session
from lib.match import complete
from lib.member import Member, open_folder
from lib.registry import Failure, Skip, check, equal, test, wait_for
from lib.world import find_key

DROP_IN = '/run/systemd/system/iotracerd.service.d'
CATALOGUES = '/usr/lib/systemd/catalog'
SOCKET = '/run/iotracer/io.iotracer'  # root:iotracer
EXPOSURE = 2.0


def journal(world, lines):
    return world.command('journalctl', '-u', 'iotracerd', '-n', str(lines), '-o', 'cat').stdout.splitlines()


def systemctl(world, *args, check_exit=True):
    """Runs systemctl; a failure comes with the last lines of the journal."""
    done = world.command('systemctl', *args, check=False)
    if check_exit and done.returncode:
        raise Failure('systemctl %s: exit %d' % (' '.join(args), done.returncode),
                      *done.stderr.splitlines()[-3:], *journal(world, 12))
    return done


def service(world):
    """iotracectl with its default socket; skips the test where there is no installed service."""
    if not world.installed:
        raise Skip('not --installed')
    with open('/proc/1/comm', encoding='ascii') as file:
        if file.read().strip() != 'systemd':
            raise Skip('systemd is not PID 1')
    return Ctl(world.ctl_program)


def record(world, ctl):
    session = Session(ctl, os.path.basename(world.path('service')),
                      world.path('trace'), ('--vfs', '--command', 'iotr-trigger'))
    with session:
        _, expected = world.trigger.run('write', world.path('work'))
    complete(world.level, expected, session.rows())


def load_soon(world):
    """Runs the service at the tracepoint level, which loads faster; the test `works` has it as it is installed."""
    if os.path.exists(DROP_IN):
        return
    os.makedirs(DROP_IN)
    with open(os.path.join(DROP_IN, 'level.conf'), 'w', encoding='ascii') as file:
        file.write('[Service]\nExecStart=\nExecStart=%s --level tracepoint\n'
                   % world.daemon_program)
    world.at_the_end('systemctl', 'daemon-reload')
    world.at_the_end('rm', '-r', DROP_IN)
    world.at_the_end('systemctl', 'stop', 'iotracerd.socket', 'iotracerd.service')
    systemctl(world, 'daemon-reload')


def running(world):
    """A client of the service, which tests share and leave running, as its start takes longer than they do."""
    ctl = service(world)
    load_soon(world)
    systemctl(world, 'start', 'iotracerd')
    return ctl


def show(world, unit, name):
    return systemctl(world, 'show', '-P', name, unit).stdout.strip()


@test
def works(world):
    ctl = service(world)
    world.later('systemctl', 'disable', '--now', 'iotracerd.service')
    systemctl(world, 'enable', '--now', 'iotracerd')
    equal(show(world, 'iotracerd', 'ActiveState'), 'active', 'state of the service')
    record(world, ctl)
    systemctl(world, 'stop', 'iotracerd')
    equal(show(world, 'iotracerd', 'Result'), 'success', 'result of the service')
    told = journal(world, 50)
    for line in ('serving on ' + SOCKET, 'SIGTERM received: ending'):
        check(any(line in one for one in told), 'the journal does not tell: ' + line, *told)


@test
def activated(world):
    """Socket activation: a connection starts the service."""
    ctl = service(world)
    if systemctl(world, 'cat', 'iotracerd.socket', check_exit=False).returncode:
        raise Skip('no iotracerd.socket')
    load_soon(world)
    systemctl(world, 'stop', 'iotracerd.service', 'iotracerd.socket', check_exit=False)
    systemctl(world, 'start', 'iotracerd.socket')
    mode = os.stat(SOCKET)
    equal(mode.st_mode & 0o777, 0o660, 'mode of the socket')
    equal(show(world, 'iotracerd', 'ActiveState'), 'inactive', 'state of the service before anybody asks')
    record(world, ctl)
    equal(show(world, 'iotracerd', 'ActiveState'), 'active', 'state of the service')
    for name, code in (('iotracer', 0), ('iotracer-read', 0), ('nogroup', 4)):
        member = Member(54421, groups=[grp.getgrnam(name).gr_gid])
        equal(member.run(world.ctl_program, 'list').returncode, code, 'list, as a member of ' + name)


def drop_in(world, name, *lines):
    """More of the service's unit, until the test ends."""
    path = os.path.join(DROP_IN, name + '.conf')
    world.later('systemctl', 'daemon-reload')
    world.later('rm', '-f', path)
    with open(path, 'w', encoding='ascii') as file:
        file.write('\n'.join(['[Service]', *lines]) + '\n')
    systemctl(world, 'daemon-reload')


def starts(world):
    return int(show(world, 'iotracerd', 'NRestarts') or 0)


@test
def watched(world):
    """systemd ends a daemon whose consumer stands still and starts it again; the session goes on, and the journal tells all of it."""
    ctl = running(world)
    equal(show(world, 'iotracerd', 'Type'), 'notify', 'type')
    check(show(world, 'iotracerd', 'WatchdogUSec') not in ('', '0', 'infinity'), 'no watchdog')
    drop_in(world, 'zz-watchdog', 'WatchdogSec=12', 'LimitCORE=0')
    systemctl(world, 'restart', 'iotracerd')
    name, output, before = os.path.basename(world.path('stuck')), world.path('trace'), starts(world)
    with reads.Reads(world.path('file')) as load:
        ctl.json('start', name, '--vfs', '--operation', 'READ', '--min-size', reads.SIZE, '--no-snapshots', '--output', output, code=(0, 6))
        world.later(world.ctl_program, 'stop', name)
        thread = watchdog.thread_of(int(show(world, 'iotracerd', 'MainPID')), watchdog.CONSUMER)
        watchdog.stop(thread)
        load.go(10)
        # Its end has to be waited for here, as systemd does not see that of the process before.
        wait_for('systemd to end the daemon', lambda: os.waitpid(thread, watchdog.ALL_CHILDREN | os.WNOHANG)[0] and
                 not os.path.exists('/proc/%d' % thread), lambda: journal(world, 12))
        wait_for('systemd to start it again', lambda: starts(world) > before, lambda: journal(world, 12))
        systemctl(world, 'start', 'iotracerd')
        wait_for('the session to go on', lambda: (one := ctl.json('status')['sessions']) and one[0]['state'] == 'running')
        load.go(10)
        wait_for('rows', lambda: find_key(ctl.json('status', name)['sessions'][0], 'written') == 10)
    told = journal(world, 40)
    for line in ('the thread that takes up rows has not moved for ', 'Watchdog timeout', 'session %s goes on in ' % name):
        check(any(line in one for one in told), 'the journal does not tell: ' + line, *told)


@test
def unit_states(world):
    """A flight recorder of the confined service is dumped when a unit fails, and not for another one."""
    ctl, name, unit = running(world), os.path.basename(world.path('units')), 'iotr-fails.service'
    world.later('systemctl', 'reset-failed', unit)
    ctl.json('start', name, '--vfs', '--flight-recorder', '1M', '--trigger', 'unit %s failed' % unit, '--trigger',
             'unit iotr-absent.service failed', code=(0, 6))
    world.later(world.ctl_program, 'stop', name)
    world.command('systemd-run', '--unit', unit, 'false')

    def told():
        return ctl.json('status', name)['sessions'][0]
    wait_for('the trigger to act', lambda: told()['triggers'][0]['fired'], lambda: [str(told())])
    equal((told()['triggers'][0]['last_value'], told()['triggers'][1]['fired'], told().get('trigger_error')), ('failed', 0, None),
          'what the status tells')
    wait_for('the dump', lambda: any('session %s dumped into' % name in line for line in journal(world, 20)))


def told_capabilities(pid):
    """The sets of capabilities of a process, by name."""
    with open('/proc/%s/status' % pid, encoding='ascii') as file:
        lines = [line.split() for line in file if line.startswith('Cap')]
    return {name.rstrip(':'): int(bits, 16) for name, bits in lines}


def nice_values(pid):
    """Those of a process's threads."""
    for task in os.listdir('/proc/%s/task' % pid):
        with open('/proc/%s/task/%s/stat' % (pid, task), encoding='ascii') as file:
            yield int(file.read().rpartition(')')[2].split()[16])


@test
def confined(world):
    """What the daemon may do is what its unit names, and no protection of the unit was lost on the way."""
    running(world)
    sets = told_capabilities(show(world, 'iotracerd', 'MainPID'))
    bound = sets['CapBnd']
    equal((sets['CapPrm'], sets['CapEff'], sets['CapInh'], sets['CapAmb']), (bound, bound, 0, 0), 'capabilities')
    equal(min(nice_values(show(world, 'iotracerd', 'MainPID'))), -10, 'nice value of the thread that takes up rows')
    named = show(world, 'iotracerd', 'CapabilityBoundingSet').split()
    equal(bin(bound).count('1'), len(named), 'number of capabilities, of ' + ' '.join(named))
    for name in ('cap_sys_module', 'cap_sys_rawio', 'cap_net_admin', 'cap_mknod', 'cap_setpcap'):
        check(name not in named, 'the unit has ' + name)
    told = world.command('systemd-analyze', 'security', '--no-pager', '--threshold=%d' % (EXPOSURE * 10), 'iotracerd',
                         check=False)
    check(not told.returncode, 'more exposed than %.1f' % EXPOSURE, *told.stdout.splitlines()[-3:], *told.stderr.splitlines())


@test
def of_the_machine(world):
    """The service has no file of /proc but those of processes; what is asked of the machine is told all the same."""
    ctl = running(world)
    own = os.listdir('/proc/%s/root/proc' % show(world, 'iotracerd', 'MainPID'))
    equal([name for name in own if not name.isdigit() and name not in ('self', 'thread-self')], [], 'its /proc')
    output = world.path('facts')
    ctl.exits(0, 'snapshot', 'system', '--output', output)
    with open(os.path.join(output, 'system_spec', 'device_spec.json'), encoding='utf-8') as file:
        facts = json.load(file)
    check(facts['memory']['total_bytes'] and facts['cpu']['brand'] and facts['os'], facts)
    if not os.path.exists('/proc/pressure/cpu'):
        return
    ctl.exits((0, 6), 'start', 'iotr-pressure', '--vfs', '--no-snapshots', '--output', world.path('pressed'),
              '--stop-on', 'pressure.cpu some > 0%')
    world.undo.callback(ctl.run, 'stop', 'iotr-pressure')
    for _ in range(os.cpu_count() + 1):
        world.undo.callback(subprocess.Popen([sys.executable, '-c', 'while True: pass']).kill)
    wait_for('the end by pressure', lambda: find_key(ctl.json('status', 'iotr-pressure'), 'state') == 'ended',
             lambda: ctl.run('status', 'iotr-pressure').stdout)


TRY_FILES = '''
import socket
def told(does, what, path):
    try:
        does()
        print(what, path)
    except OSError:
        pass
for path in sys.argv[1:]:
    told(lambda: os.close(os.open(path, os.O_TMPFILE | os.O_WRONLY)), 'makes files in', path)
    if not os.path.isdir(path):
        told(lambda: os.close(os.open(path, os.O_RDONLY)), 'reads', path)
    told(lambda: os.close(os.open(path, os.O_WRONLY)), 'writes', path)
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        with socket.socket(socket.AF_UNIX, kind) as peer:
            told(lambda: peer.connect(path), 'is connected to', path)
'''


@test
def strangers(world):
    """A user without a role can connect to no socket of ours, and reads and writes none of our files."""
    ctl = running(world)
    with Session(ctl, 'iotr-closed', world.path('closed'), ('--vfs', '--no-snapshots', '--anonymize=host')):
        ctl.exits(0, 'start', 'iotr-default', '--vfs', '--no-snapshots')
        world.undo.callback(ctl.run, 'stop', 'iotr-default')
        folders = ['/run/iotracer', '/run/iotracer-root', '/var/lib/iotracer', '/var/log/iotracer', world.path('closed')]
        held = [os.path.join(above, name) for folder in folders for above, inner, names in os.walk(folder)
                for name in ('.', *inner, *names)]
        check(SOCKET in held and any(path.endswith('.part') for path in held), 'not all is there', held)
        done = Member(54422).do(TRY_FILES, *held)
    equal(done.splitlines(), [], 'what the stranger can do')


@test
def renamed(world):
    """Traces say what the machine is called now, though the service has a name of its own."""
    ctl = running(world)
    world.undo.callback(socket.sethostname, socket.gethostname())
    socket.sethostname('iotr-renamed')

    def called():
        name = os.path.basename(world.path('named'))
        with Session(ctl, name, world.path('trace'), ('--vfs', '--pid', os.getpid(), '--no-snapshots')) as session:
            pass
        return rows.manifest(session.output)['host']['name']

    wait_for('traces to say so', lambda: called() == 'iotr-renamed', lambda: journal(world, 5))


def entries(world, session):
    """What the journal has about a session, by the names of the kinds: each message with its fields."""
    with open(os.path.join(CATALOGUES, 'iotracer.catalog'), encoding='utf-8') as file:
        subjects = dict(re.findall(r'^-- ([0-9a-f]{32})\nSubject: (.*)$', file.read(), re.M))
    found = {}
    world.command('journalctl', '--sync')
    for line in world.command('journalctl', '-u', 'iotracerd', '-o', 'json',
                              'IOTRACER_SESSION=' + session).stdout.splitlines():
        entry = json.loads(line)
        found.setdefault(subjects[entry['MESSAGE_ID']].replace('@IOTRACER_SESSION@', 'S'), []).append(entry)
    return found


@test
def messages(world):
    """The journal has fields of what sessions do and lose, once for what goes on; its catalogue explains them."""
    ctl = running(world)
    mount = world.tmpfs(2 << 20)
    ballast = os.path.join(mount, 'ballast')
    with open(ballast, 'wb') as file:
        file.write(bytes(1 << 20))
    name = os.path.basename(world.path('told'))
    session = Session(ctl, name, os.path.join(mount, 'trace'), (*reads.OPTIONS, '--no-snapshots'), lossless=False)
    with reads.Reads(reads.deep(world.path('deep'))) as load:
        session.start()
        world.undo.callback(ctl.run, 'stop', name)
        for _ in range(3):
            done = load.done
            load.go(1000)
            wait_for('rows to be lost', lambda: find_key(session.status(), 'lost')['disk'] > done)
        os.unlink(ballast)
        wait_for('rows to be written again', lambda: not find_key(account.streams(session.status()), 'error'))
        final = session.stop()
    lost = find_key(final, 'lost')['disk']
    told = entries(world, name)
    start, = told['Session S records']
    equal((start['PRIORITY'], start['IOTRACER_UID'], start['SYSLOG_IDENTIFIER']), ('6', '0', 'iotracerd'), 'start')
    equal(len(told['Session S was stopped']), 1, 'told of the stop')
    losses = told['Session S lost @IOTRACER_ROWS@ rows of @IOTRACER_STREAM@: @IOTRACER_CAUSE@']
    equal({(one['IOTRACER_STREAM'], one['IOTRACER_CAUSE'], one['PRIORITY']) for one in losses},
          {('vfs', 'disk', '4')}, 'losses')
    equal(sum(int(one['IOTRACER_ROWS']) for one in losses), lost, 'rows lost')
    check(len(losses) <= 3, 'the journal is flooded', *losses)
    check(all(one['IOTRACER_FROM'] < one['IOTRACER_TO'] for one in losses), 'times', *losses)
    refused = json.loads(world.command('journalctl', '-u', 'iotracerd', '-o', 'json',
                                       'IOTRACER_OUTPUT=' + session.output, 'ERRNO=%d' % errno.ENOSPC).stdout
                         .splitlines()[0])
    equal((refused['PRIORITY'], refused['IOTRACER_STREAM']), ('3', 'vfs'), 'a disk that is full')
    world.command('journalctl', '--update-catalog')  # as a package does when it is installed
    explained = world.command('journalctl', '-x', '--no-pager', '-u', 'iotracerd', 'IOTRACER_SESSION=' + name).stdout
    check('Subject: Session %s lost ' % name in explained, 'journalctl -x does not explain',
          *explained.splitlines()[-20:])


@test
def reload(world):
    """Fails with what is wrong in the configuration, and the service goes on as it was."""
    folder = '/etc/iotracer/iotracerd.conf.d'
    path = os.path.join(folder, 'iotr-test.conf')
    running(world)
    os.makedirs(folder, exist_ok=True)
    world.later('systemctl', 'reload', 'iotracerd')
    world.later('rm', '-f', path)
    pid = show(world, 'iotracerd', 'MainPID')
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Storage]\nMaxUse=10Q\n')
    done = systemctl(world, 'reload', 'iotracerd', check_exit=False)
    check(done.returncode != 0, 'a bad configuration is reloaded')
    told = journal(world, 20)
    check(any(path + ':2: MaxUse=10Q: ' in line for line in told), 'the journal does not tell', *told)
    equal(show(world, 'iotracerd', 'ActiveState'), 'active', 'state of the service')
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Storage]\nMaxUse=10G\n')
    systemctl(world, 'reload', 'iotracerd')
    equal(show(world, 'iotracerd', 'MainPID'), pid, 'process')


@test
def declared(world):
    """A session that a file declares starts with the service, and ends when its file goes."""
    service(world)
    load_soon(world)
    path = '/etc/iotracer/sessions.d/iotr-test.session'
    os.makedirs(os.path.dirname(path), exist_ok=True)
    world.later('rm', '-f', path)
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Session]\nvfs=yes\ncommand=iotr-trigger\nno-snapshots=yes\n')
    systemctl(world, 'stop', 'iotracerd')
    ctl = running(world)
    state = lambda: {one['name']: one['state'] for one in ctl.json('list')['sessions']}.get('iotr-test')
    wait_for('it to run', lambda: state() == 'running')
    equal(len(entries(world, 'iotr-test')['Session S records']), 1, 'told of the start')
    os.remove(path)
    systemctl(world, 'reload', 'iotracerd')
    wait_for('its end', lambda: state() is None)


def walked(output):
    """The paths in a snapshot of files."""
    return {row['path'] for row in rows.parse(os.path.join(output, 'filesystem_snapshot/filesystem_snap_000001.csv.gz'))}


@test
def whole_tree(world):
    """What users name is the machine's: homes, /tmp, disks and modules, which the service itself does not see."""
    ctl = running(world)
    member = Member(54421, groups=[grp.getgrnam('iotracer').gr_gid])
    home = member.folder('/home', 'iotr-home', 0o700)
    world.later('rm', '-rf', home)
    way, trace, seen = os.path.join(open_folder(world), 'way'), os.path.join(home, 'trace'), os.path.join(home, 'seen')
    os.symlink(home, way)

    def does(code, *args):
        done = member.run(world.ctl_program, *args)
        check(done.returncode in code, ' '.join(args), 'exit %d' % done.returncode, done.stderr)
        return done.stderr
    does((0, 6), 'start', 'iotr-tree', '--vfs', '--no-snapshots', '--path', home, '--output', os.path.join(way, 'trace'))
    world.undo.callback(ctl.run, 'stop', 'iotr-tree')
    member.do('open(sys.argv[1], "w").write("x")', seen)
    does((0,), 'snapshot', 'filesystem', '--root', way, '--output', os.path.join(home, 'snap'))
    does((0,), 'stop', 'iotr-tree')
    check(seen in {row['filename'] for row in rows.read(trace, 'vfs')}, 'no row of ' + seen)
    check(seen in walked(os.path.join(home, 'snap')), 'not in the snapshot: ' + seen)
    for path in (trace, os.path.join(home, 'snap')):
        equal((os.lstat(path).st_uid, os.lstat(path).st_gid), (member.uid, member.gid), 'owner of ' + path)
    for folder, right in (('/root', 'look into'), ('/etc', 'write in')):
        told = does((1,), 'start', 'iotr-new', '--vfs', '--output', folder + '/iotr-new')
        check('may not %s %s' % (right, folder) in told, told)
    modules, output = '/usr/lib/modules/iotr-test', world.path('modules')
    os.makedirs(modules)
    world.later('rmdir', modules)
    ctl.exits((0, 6), 'snapshot', 'filesystem', '--root', '/usr/lib/modules', '--depth', '1', '--output', output)
    check(modules in walked(output), 'not in the snapshot: ' + modules)
    disks = [path for path in map('/dev/'.__add__, os.listdir('/sys/block')) if os.path.exists(path)]
    with Session(ctl, 'iotr-disk', world.path('disk'), ('--block', '--no-snapshots', '--device', disks[0])):
        pass


@test
def metrics(world):
    """The listener and the file for Prometheus, within what the unit lets the daemon do."""
    running(world)
    folder, path = world.make('textfile'), '/etc/iotracer/iotracerd.conf.d/iotr-metrics.conf'
    os.makedirs(os.path.dirname(path), exist_ok=True)
    world.later('systemctl', 'reload', 'iotracerd')
    world.later('rm', '-f', path)
    with open(path, 'w', encoding='ascii') as file:
        file.write('[Metrics]\nListen=127.0.0.1:9469\nTextFile=%s/iotracer.prom\nInterval=1s\n' % folder)
    systemctl(world, 'reload', 'iotracerd')
    with urllib.request.urlopen('http://127.0.0.1:9469/metrics', timeout=60) as answer:
        check(b'\niotracer_rows_total{stream="vfs"} ' in answer.read(), 'what it answers')
    wait_for('the file', lambda: os.path.exists(os.path.join(folder, 'iotracer.prom')))


@test
def self_test(world):
    """What the daemon's confinement refuses is tried all the same, by a service that is not so confined."""
    ctl = running(world)
    told = {one['check']: one for one in ctl.json('doctor', code=(0, 6))['checks']}
    check(told['self-test']['ok'], told['self-test']['detail'])
    refused = ('vfs.MOUNT', 'vfs.UMOUNT', 'conn.CONNECT', 'net.SEND')
    equal({name: told[name].get('test') for name in refused}, dict.fromkeys(refused, 'rows'), 'what the daemon may not do')
    equal([name for name, one in told.items() if one.get('test') == 'none'], [], 'hooks that gave no row')
    world.later('systemctl', 'start', 'iotracer-self-test.socket')
    systemctl(world, 'stop', 'iotracer-self-test.socket')
    told = {one['check']: one for one in ctl.json('doctor', code=(0, 6))['checks']}
    check('iotracer-self-test.socket' in told['self-test']['detail'], told['self-test']['detail'])
    equal({name: told[name].get('test') for name in refused}, dict.fromkeys(refused, 'untried'), 'without that')


@test
def unknown_unit(world):
    """A unit that systemd does not know is a warning, as it may be started later."""
    ctl = running(world)
    for unit, known in (('iotr-none-such', False), ('iotracerd', True)):
        name = 'unit-' + unit
        done = ctl.exits(0, 'start', name, '--vfs', '--unit', unit, '--output', world.path(name), '--json')
        ctl.exits(0, 'stop', name)
        told = 'systemd knows no unit %s.service' % unit
        equal([one.split(':')[0] for one in json.loads(done.stdout)['warnings']], [] if known else [told], 'warnings')
        equal(told in done.stderr, not known, 'stderr')


@test
def restarted(world):
    """Over a restart systemd keeps what is loaded; a session goes on, and its manifest tells of the hole."""
    ctl = running(world)
    ctl.json('streams')  # all is loaded
    wait_for('it to be kept', lambda: show(world, 'iotracerd', 'NFileDescriptorStore') == '1')
    work = world.make('work')
    first = ctl.json('start', 'kept', '--vfs', '--operation', 'MKDIR', '--path', work, '--no-snapshots', code=(0, 6))['session']
    try:
        os.mkdir(os.path.join(work, 'before'))
        cursor = world.command('journalctl', '-u', 'iotracerd', '-n', '1', '--show-cursor', '-o', 'cat').stdout.splitlines()[-1]
        systemctl(world, 'restart', 'iotracerd')
        wait_for('the session to go on', lambda: [one['state'] for one in ctl.json('list')['sessions']] == ['running'])
        os.mkdir(os.path.join(work, 'after'))
        later = ctl.json('status', 'kept')['sessions'][0]
    finally:
        ctl.run('stop', 'kept')
    for output, name in ((first['output'], 'before'), (later['output'], 'after')):
        equal([os.path.basename(row['filename']) for row in rows.read(output, 'vfs')], [name], 'rows')
        ctl.verified(output)
    equal([one['reason'] for one in rows.manifest(later['output'])['gaps']], ['restart'], 'gaps')
    told = world.command('journalctl', '-u', 'iotracerd', '-o', 'cat', cursor.replace('-- cursor: ', '--after-cursor=')).stdout
    check('anew' not in told, 'it was not taken over', *told.splitlines())
    ctl.json('streams')
    wait_for('it to be kept again', lambda: show(world, 'iotracerd', 'NFileDescriptorStore') == '1')


def cgroup_of(world):
    return '/sys/fs/cgroup' + show(world, 'iotracerd', 'ControlGroup')


def limit(world, name, value):
    with open(os.path.join(cgroup_of(world), name), 'w', encoding='ascii') as file:
        file.write(str(value))


@test
def few_tasks(world):
    """Where TasksMax= strikes, a start fails with its reason, and what runs goes on; with room again all works."""
    ctl = running(world)
    equal(show(world, 'iotracerd', 'TasksMax'), '1024', 'TasksMax=')
    going = Session(ctl, 'going', world.path('going'), ('--vfs', '--command', 'iotr-trigger', '--no-snapshots'))
    with going:
        with open(os.path.join(cgroup_of(world), 'pids.current'), encoding='ascii') as file:
            tasks = int(file.read())
        limit(world, 'pids.max', tasks)
        try:
            done = ctl.exits(1, 'start', 'more', '--vfs', '--output', world.path('more'), '--no-snapshots')
        finally:
            limit(world, 'pids.max', 1024)
        check(os.strerror(errno.EAGAIN) in done.stderr, 'the reason is not told', done.stderr)
        equal([one['name'] for one in ctl.json('list')['sessions'] if one['state'] == 'running'], ['going'], 'sessions')
        _, expected = world.trigger.run('write', world.path('work'))
    complete(world.level, expected, going.rows())
    record(world, ctl)


@test
def little_memory(world):
    """Where MemoryMax= strikes, the daemon alone is killed; systemd starts it anew, and sessions go on with a gap."""
    ctl = running(world)
    killed = show(world, 'iotracerd', 'MainPID')
    with open('/proc/%s/oom_score_adj' % killed, encoding='ascii') as file:
        equal(file.read().strip(), '200', 'OOMScoreAdjust=')
    check(show(world, 'iotracerd', 'MemoryMax') not in ('', 'infinity'), 'no MemoryMax=')
    first = ctl.json('start', 'kept', '--vfs', '--no-snapshots', code=(0, 6))['session']
    try:
        limit(world, 'memory.max', 1 << 20)
        wait_for('another one', lambda: show(world, 'iotracerd', 'MainPID') not in ('0', killed), pause=0.2)
        wait_for('it to be ready', lambda: show(world, 'iotracerd', 'ActiveState') == 'active', pause=0.2)
        wait_for('the session to go on', lambda: ctl.json('status', 'kept')['sessions'][0]['state'] == 'running')
        later = ctl.json('status', 'kept')['sessions'][0]
        equal(rows.manifest(later['output'])['definition']['resumes'], first['output'], 'what it goes on with')
        wait_for('the folder of the killed one to be set right', lambda: 'gaps' in rows.manifest(first['output']))
        equal(rows.manifest(first['output'])['gaps'][0]['reason'], 'crash', 'reason')
        told = journal(world, 40)
        check(any('oom-kill' in line or 'OOM' in line for line in told), 'the journal does not tell', *told)
    finally:
        ctl.run('stop', 'kept')
    with open(os.path.join(cgroup_of(world), 'memory.max'), encoding='ascii') as file:
        check(file.read().strip() != str(1 << 20), 'the limit stays')


@test
def survives(world):
    """systemd restarts the service after it was killed."""
    ctl = running(world)
    # This is the last test of the service: a virtual machine has little memory for its maps.
    world.later('systemctl', 'stop', 'iotracerd.socket', 'iotracerd.service')
    if show(world, 'iotracerd', 'Restart') == 'no':
        raise Skip('not restarted by its unit')
    killed = show(world, 'iotracerd', 'MainPID')
    world.command('kill', '-9', killed)
    wait_for('another one', lambda: show(world, 'iotracerd', 'MainPID') not in ('0', killed), pause=0.2)
    wait_for('the new service to be ready', lambda: show(world, 'iotracerd', 'ActiveState') == 'active', pause=0.2)
    record(world, ctl)
