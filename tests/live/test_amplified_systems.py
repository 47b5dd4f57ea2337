# SPDX-License-Identifier: GPL-2.0-or-later
"""`amplification` of storage systems as Debian has them, each started here and made to write what is known."""
import contextlib
import glob
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

from lib.amplified import Counting, consistent, factor, operations, size
from lib.registry import Skip, check, equal, test, wait_for

PAGE = 4096


@contextlib.contextmanager
def running(*command, **options):
    """A server, which is ended by its process id."""
    with subprocess.Popen([str(one) for one in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, **options) as server:
        try:
            yield server
        finally:
            server.terminate()
            server.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def succeeds(*command):
    return subprocess.run([str(one) for one in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def judge(group, written):
    """Of a system that has had `written` bytes put on the disk: they are there, and multiplied."""
    consistent(group)
    check(size(group, 'write', 'device') >= written, 'bytes on the disk', group['write'])
    check(factor(group, 'write') and factor(group, 'write') > 0.5, 'amplification by bytes', group['write'])
    check(factor(group, 'write', 'by_operations') > 1, 'amplification by operations', group['write'])


# ---- PostgreSQL ----

def postgres_folder():
    found = sorted(glob.glob('/usr/lib/postgresql/*/bin'))
    if not found or not os.path.exists(found[-1] + '/pgbench') or not os.path.exists(found[-1] + '/initdb'):
        raise Skip('PostgreSQL is not installed')
    return found[-1]


@test(host_only=True)
def postgresql(world):
    """pgbench: as much as the log of the server tells is written and on the disk; the client is no part of it."""
    programs, folder = postgres_folder(), world.make('postgresql')
    os.chmod(world.folder, 0o755)
    shutil.chown(folder, 'postgres')
    data = os.path.join(folder, 'data')
    as_user = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups']
    sql = lambda text: world.command(*as_user, programs + '/psql', '-h', folder, '-XAtc', text, 'postgres').stdout.strip()
    world.command(*as_user, programs + '/initdb', '-D', data, '-A', 'trust', '--no-sync')
    with running(*as_user, programs + '/postgres', '-D', data, '-k', folder, '-c', 'listen_addresses=', cwd=folder):
        wait_for('PostgreSQL', lambda: succeeds(programs + '/pg_isready', '-h', folder))
        pgbench = [*as_user, programs + '/pgbench', '-h', folder]
        world.command(*pgbench, '-i', '-s', '1', '-q', 'postgres')
        with Counting(world.ctl, '--lines', '200') as counting:
            before = sql('select pg_current_wal_lsn()')
            done = world.command(*pgbench, '-c', '2', '-t', '100', 'postgres').stdout
            check('200/200' in done, 'transactions', done)
            log = int(sql("select pg_wal_lsn_diff(pg_current_wal_lsn(), '%s')" % before))
            world.command(*as_user, programs + '/psql', '-h', folder, '-Xqc', 'checkpoint', 'postgres')
            group = counting.until('PostgreSQL', lambda one: operations(one, 'write', 'application') >= 200 and
                                   size(one, 'write', 'device') >= log)
            others = counting.groups()
    judge(group, log)
    check(size(group, 'write', 'application') >= log, 'bytes written', group['write'], log)
    check('pgbench' not in others, 'the client is a system')


# ---- Redis ----

@test(host_only=True)
def redis(world):
    """Each command is a write that is on the disk before its reply: some bytes become a page, and metadata."""
    world.need('redis-server', 'redis-cli', 'redis-benchmark')
    folder = world.make('redis')
    end = os.path.join('/var/tmp', 'iotracer-redis-%d.sock' % os.getpid())  # a socket's path is short
    count = 200
    with running('redis-server', '--port', '0', '--unixsocket', end, '--dir', folder, '--appendonly', 'yes',
                 '--appendfsync', 'always', '--save', ''):
        wait_for('Redis', lambda: succeeds('redis-cli', '-s', end, 'ping'))
        with Counting(world.ctl, '--lines', '200', '--system', 'redis') as counting:
            world.command('redis-benchmark', '-s', end, '-c', '1', '-n', count, '-t', 'set', '-q')
            group = counting.until('Redis', lambda one: operations(one, 'write', 'application') >= count and
                                   size(one, 'write', 'device') >= count * PAGE and
                                   one['parts']['calls_sync']['operations'] >= count)
    judge(group, count * PAGE)
    check(factor(group, 'write') > 10, 'small writes multiply', group['write'])
    for_itself = sum(group['parts'][name]['bytes'] for name in ('journal_write', 'metadata_write'))
    check(for_itself >= count * PAGE, 'what the file system writes for itself at each', for_itself)


# ---- MariaDB ----

@test(host_only=True)
def mariadb(world):
    """Each INSERT is a transaction of InnoDB, whose log is on the disk before the reply; later its page is, twice."""
    world.need('mariadbd', 'mariadb-install-db', 'mariadb')
    folder, count = world.make('mariadb'), 100
    data, end = os.path.join(folder, 'data'), os.path.join('/var/tmp', 'iotracer-mariadb-%d.sock' % os.getpid())
    world.command('mariadb-install-db', '--no-defaults', '--user=root', '--datadir=' + data, '--skip-test-db',
                  '--auth-root-authentication-method=normal')
    sql = lambda text: world.command('mariadb', '--no-defaults', '-S', end, '-u', 'root', '-e', text)
    with running('mariadbd', '--no-defaults', '--user=root', '--datadir=' + data, '--socket=' + end, '--skip-networking',
                 '--pid-file=' + os.path.join(folder, 'pid'), '--innodb-flush-log-at-trx-commit=1'):
        wait_for('MariaDB', lambda: succeeds('mariadb', '--no-defaults', '-S', end, '-u', 'root', '-e', 'select 1'))
        sql('create database d; create table d.t (a int) engine=innodb;')
        with Counting(world.ctl, '--lines', '200') as counting:
            sql('insert into d.t values (1);' * count)
            group = counting.until('MySQL/MariaDB', lambda one: operations(one, 'write', 'application') >= count and
                                   size(one, 'write', 'device') >= count * PAGE)
    judge(group, count * PAGE)
    check(group['parts']['calls_sync']['operations'] >= count, 'synchronisations', group['parts']['calls_sync'])


# ---- SQLite ----

@test(host_only=True)
def sqlite(world):
    """Transactions with a rollback journal: each page is written twice at least, and the journal's header."""
    world.need('sqlite3')
    path = os.path.join(world.make('sqlite'), 'db')
    count = 50
    text = 'create table t(a);' + 'insert into t values(1);' * count
    with Counting(world.ctl, '--lines', '200') as counting:
        world.command('sqlite3', path, 'pragma synchronous=full;' + text)
        group = counting.until('SQLite', lambda one: operations(one, 'write', 'application') >= 3 * count and
                               size(one, 'write', 'device') >= count * 2 * PAGE)
    judge(group, count * 2 * PAGE)


# ---- etcd ----

@test(host_only=True)
def etcd(world):
    """Each put is in the log, and on the disk, before its reply."""
    world.need('etcd')
    folder, port, peer = world.make('etcd'), free_port(), free_port()
    url, peer_url = 'http://127.0.0.1:%d' % port, 'http://127.0.0.1:%d' % peer
    count = 100

    def put(number):
        # The value and key are base64 of some bytes.
        body = json.dumps({'key': 'a2V5', 'value': 'dmFsdWU%d' % (number % 10)}).encode()
        with urllib.request.urlopen(urllib.request.Request(url + '/v3/kv/put', body), timeout=60) as reply:
            return reply.status == 200

    def answers():
        with contextlib.suppress(OSError):
            return put(0)

    with running('etcd', '--data-dir', folder, '--listen-client-urls', url, '--advertise-client-urls', url,
                 '--listen-peer-urls', peer_url, '--initial-advertise-peer-urls', peer_url,
                 '--initial-cluster', 'default=' + peer_url, cwd=folder):
        wait_for('etcd', answers, pause=0.2)
        with Counting(world.ctl, '--lines', '200') as counting:
            for number in range(count):
                check(put(number), 'a put failed')
            group = counting.until('etcd', lambda one: operations(one, 'write', 'application') >= count and
                                   size(one, 'write', 'device') >= count * PAGE)
    judge(group, count * PAGE)


# ---- GlusterFS ----

BRICK = '''volume posix
  type storage/posix
  option directory %s
end-volume
volume locks
  type features/locks
  subvolumes posix
end-volume
volume /brick
  type performance/io-threads
  subvolumes locks
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address 127.0.0.1
  option transport.socket.listen-port %d
  option auth.addr./brick.allow *
  subvolumes /brick
end-volume
'''
CLIENT = '''volume client
  type protocol/client
  option transport-type tcp
  option remote-host 127.0.0.1
  option remote-port %d
  option remote-subvolume /brick
end-volume
'''


@test(host_only=True)
def glusterfs(world):
    """One brick, and a client that mounts it: what is written to the mount, the brick's process writes to its files."""
    world.need('glusterfsd', 'glusterfs')
    if not os.path.exists('/dev/fuse'):
        raise Skip('there is no /dev/fuse')
    folder, port = world.make('gluster'), free_port()
    brick, mount = world.make('brick'), world.make('mount')
    files = {'server': BRICK % (brick, port), 'client': CLIENT % port}
    for name, text in files.items():
        with open(os.path.join(folder, name + '.vol'), 'w', encoding='ascii') as file:
            file.write(text)
    log = lambda name: os.path.join(folder, name + '.log')
    with running('glusterfsd', '-N', '-f', folder + '/server.vol', '-l', log('server'), '-p', folder + '/server.pid'), \
            running('glusterfs', '-N', '-f', folder + '/client.vol', '-l', log('client'), '-p', folder + '/client.pid',
                    mount):
        world.later('umount', '-l', mount)
        if not wait_mounted(mount, log('client')):
            raise Skip('GlusterFS does not mount here: see %s' % last_line(log('client')))
        with Counting(world.ctl, '--lines', '200') as counting:
            with open(os.path.join(mount, 'file'), 'wb', buffering=0) as file:
                for _ in range(16):
                    file.write(b'x' * (128 << 10))
                    os.fsync(file.fileno())
            group = counting.until('GlusterFS', lambda one: size(one, 'write', 'application') >= 2 << 20 and
                                   size(one, 'write', 'device') >= 2 << 20)
        world.command('umount', '-l', mount)
    judge(group, 2 << 20)
    equal(os.stat(os.path.join(brick, 'file')).st_size, 2 << 20, 'the file in the brick')


def wait_mounted(mount, log):
    """Whether it is mounted and answers within a while: a machine may not let it."""
    for _ in range(200):
        if os.path.ismount(mount) and succeeds('stat', '-f', mount):
            return True
        if os.path.exists(log) and 'Exiting' in last_line(log):
            return False
        time.sleep(0.1)
    return False


def last_line(path):
    with contextlib.suppress(OSError):
        with open(path, errors='replace', encoding='utf-8') as file:
            return file.read().strip().splitlines()[-1:][0]
    return 'no log'
