# SPDX-License-Identifier: GPL-2.0-or-later
"""One workload full of peculiar names, recorded in the clear and anonymised; and what must not be found in a trace."""
import json
import os
import re
import socket

from lib import peculiar, rows
from lib.registry import check
from lib.sockets import spawn

UID = 54321
HASH = re.compile(r'[a-z2-7]{16}(\.[a-z0-9.]{1,8})?')


def key(world):
    return os.path.join(world.daemon.folder, 'state', 'anonymize.key')


def play(world, *sessions):
    """Runs the process of peculiar.py while all of the sessions record it."""
    folder = world.make(peculiar.MARK + ' work,')
    pid, release, result = spawn(peculiar.work(folder, UID))
    for session in sessions:
        session.start()
        world.undo.callback(lambda name=session.name: world.ctl.run('stop', name))
    os.write(release, b'\n')
    with os.fdopen(result) as file:
        told = json.load(file)
    os.waitpid(pid, 0)
    os.close(release)
    check(not told['failure'], *str(told['failure']).splitlines())
    world.command('sync', '-f', folder)  # so that nothing is written back between the ends of the sessions
    for session in sessions:
        session.stop()
    return folder


def both(world):
    """Output folders of the same workload: anonymised, in the clear."""
    if not hasattr(world, 'anonymize_traces'):
        hidden = world.session('--all', '--uid', UID, '--compress', 'none', '--anonymize=host',
                               name='a-' + peculiar.MARK)
        clear = world.session('--all', '--uid', UID, '--compress', 'none', name='b-' + peculiar.MARK)
        play(world, hidden, clear)
        world.anonymize_traces = hidden.output, clear.output
    return world.anonymize_traces


def anonymize(world, clear, *options, code=0):
    out = world.path('anonymised')
    return out, world.ctl.exits(code, 'anonymize', clear, out, *(options or ('--key', key(world))))


def contents(output):
    for folder, _, names in os.walk(output):
        for name in names:
            path = os.path.join(folder, name)
            yield path, rows.content(path)


def found(output, words):
    """Those of the words that are in any of the files, in upper or lower case."""
    return ['%s in %s' % (word, path) for path, text in contents(output) for word in words
            if word.lower().encode() in text.lower()]


def clear_words():
    words = [peculiar.MARK, peculiar.IPV4, '7f4d4237', '::1', 'iotracer-live', '/var/', 'abs,tract']
    host = socket.gethostname()
    return words + ([host] if len(host) > 5 and host not in os.uname().version else [])


def hashed_path(path):
    return path.startswith('/') and all(HASH.fullmatch(name) for name in path[1:].split('/') if path != '/')
