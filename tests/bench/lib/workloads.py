# SPDX-License-Identifier: GPL-2.0-or-later
"""What real programs write: context managers that set one up in a folder, and yield a function that lets it work."""
import contextlib
import glob
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import time

from lib.programs import Missing
from lib.tracers import require

PATIENCE = 120
PUTS = 3000  # of etcd
SOURCES = 200  # files that are compiled
FUNCTIONS = 40  # of each
COPIED = '/usr/include'


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)
    if done.returncode:
        raise Missing('%s: %s' % (os.path.basename(str(words[0])), (done.stderr.strip().splitlines() or ['it failed'])[-1]))
    return done.stdout


@contextlib.contextmanager
def serving(words, answers, **options):
    """A server, from when it answers until it is ended by its process id."""
    with subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, **options) as server:
        try:
            end = time.monotonic() + PATIENCE
            while not answers():
                if server.poll() is not None or time.monotonic() > end:
                    raise Missing('%s does not run' % words[0])
                time.sleep(0.1)
            yield
        finally:
            server.terminate()
            server.wait()


# ---- PostgreSQL ----

@contextlib.contextmanager
def pgbench(folder):
    """The function takes seconds, and returns transactions a second."""
    programs = (sorted(glob.glob('/usr/lib/postgresql/*/bin')) or [''])[-1]
    if not all(os.access(os.path.join(programs, name), os.X_OK) for name in ('initdb', 'postgres', 'pgbench')):
        raise Missing('PostgreSQL is not installed')
    home = os.path.join(folder, 'postgresql')
    os.mkdir(home)
    shutil.chown(home, 'postgres')
    data = os.path.join(home, 'data')
    user = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups']
    program = lambda name, *words: [*user, os.path.join(programs, name), *words]
    run(*program('initdb', '-D', data, '-A', 'trust', '--no-sync'), cwd=home)
    with serving(program('postgres', '-D', data, '-k', home, '-c', 'listen_addresses='),
                 lambda: not subprocess.call(program('pg_isready', '-q', '-h', home), cwd=home), cwd=home):
        run(*program('pgbench', '-h', home, '-i', '-s', '4', '-q', 'postgres'), cwd=home)
        clients = program('pgbench', '-h', home, '-n', '-c', '2', '-T')
        yield lambda seconds: float(re.search(r'tps = (\S+)', run(*clients, int(seconds), 'postgres', cwd=home))[1])


# ---- etcd ----

def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def put(port, number):
    """Whether etcd has taken a value. Keys and values are base64."""
    body = json.dumps({'key': 'a2V5%04d' % number, 'value': 'dmFs' * 64})
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request('POST', '/v3/kv/put', body)
            return connection.getresponse().status == 200
    return False


@contextlib.contextmanager
def etcd(folder):
    require('etcd')
    port, peer = free_port(), 'http://127.0.0.1:%d' % free_port()
    url, data = 'http://127.0.0.1:%d' % port, os.path.join(folder, 'etcd')

    def work(_):
        if not all(put(port, number) for number in range(PUTS)):
            raise Missing('etcd: a put failed')
    with serving(['etcd', '--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url,
                  '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer,
                  '--initial-cluster', 'default=' + peer], lambda: put(port, 0), cwd=folder):
        yield work


# ---- a build ----

SOURCE = '''#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <netinet/in.h>
%s
'''
FUNCTION = '''int f%(file)d_%(number)d(int a, char *b)
{
	for (int i = 0; i < a; i++)
		b[i] = (char)(a * %(number)d + i);
	return printf("%%s %%d\\n", b, a);
}
'''


@contextlib.contextmanager
def build(folder):
    """Many small files in C, as a kernel has; the compiler's temporary files are in the same file system."""
    require('gcc')
    require('make')
    tree, temporary = os.path.join(folder, 'tree'), os.path.join(folder, 'tmp')
    os.mkdir(tree)
    os.mkdir(temporary)
    for number in range(SOURCES):
        with open(os.path.join(tree, 'file%d.c' % number), 'w', encoding='ascii') as file:
            file.write(SOURCE % ''.join(FUNCTION % {'file': number, 'number': one} for one in range(FUNCTIONS)))
    with open(os.path.join(tree, 'Makefile'), 'w', encoding='ascii') as file:
        file.write('all.a: $(patsubst %.c,%.o,$(wildcard *.c))\n\tar rc $@ $^\n%.o: %.c\n\tgcc -O1 -g -c -o $@ $<\n')
    environment = {**os.environ, 'TMPDIR': temporary}
    yield lambda _: run('make', '-j2', '-C', tree, env=environment)


# ---- rsync ----

@contextlib.contextmanager
def rsync(folder):
    require('rsync')
    yield lambda _: run('rsync', '-a', COPIED, os.path.join(folder, 'copy'))


ALL = {'pgbench': pgbench, 'etcd': etcd, 'build of %d C files' % SOURCES: build, 'rsync of ' + COPIED: rsync}
