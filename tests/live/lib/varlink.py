# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls to the daemon over its socket; in an emulated machine to start iotracectl for each of them takes long."""
import contextlib
import json
import os
import socket

from lib.registry import PATIENCE, Failure, check

SOCKET = '/run/iotracer/io.iotracer'


def ask(path, method, patience=PATIENCE, **parameters):
    """The parameters of the reply."""
    return of_reply(method, exchanged(path or SOCKET, method, parameters, patience))


def ask_apart(path, method, **parameters):
    """The same by another process, whose calls are in no row of sessions that are narrowed to this one."""
    speaker = SPEAKERS.pop() if SPEAKERS else Speaker()
    reply = speaker.ask(path, method, parameters)
    SPEAKERS.append(speaker)
    return of_reply(method, reply)


class Speaker:
    """A process that makes calls for this one: one for all of them, as in an emulated machine each fork takes long."""

    def __init__(self):
        ours, theirs = socket.socketpair()
        if not os.fork():
            self.serve(theirs)
        theirs.close()
        self.stream = ours.makefile('rwb')
        ours.close()

    @staticmethod
    def serve(peer):
        """Until the other end is closed. What else was open here is not this process's to keep."""
        os.closerange(3, peer.fileno())
        os.closerange(peer.fileno() + 1, os.sysconf('SC_OPEN_MAX'))
        with contextlib.suppress(BaseException), peer.makefile('rwb') as stream:
            for line in stream:
                stream.write(reply_to(*json.loads(line)) + b'\n')
                stream.flush()
        os._exit(0)

    def ask(self, *call):
        """Bytes of the reply, in which no line ends."""
        self.stream.write(json.dumps(call).encode() + b'\n')
        self.stream.flush()
        return self.stream.readline()


# Those that have nothing to do. Who is forked off has none of them.
SPEAKERS = []
os.register_at_fork(after_in_child=SPEAKERS.clear)


def reply_to(path, method, parameters):
    try:
        return exchanged(path or SOCKET, method, parameters, PATIENCE)
    except Exception as error:  # pylint: disable=broad-except
        return json.dumps({'error': str(error)}).encode()


def of_reply(method, reply):
    document = json.loads(reply)
    if 'error' in document:
        raise Failure('%s: %s' % (method, document['error']), document.get('parameters'))
    return document['parameters']


def exchanged(path, method, parameters, patience):
    """Bytes of the reply."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.settimeout(patience)
        message = {'method': 'io.iotracer.' + method, 'parameters': parameters}
        peer.sendall(json.dumps(message).encode() + b'\0')
        reply = b''
        while not reply.endswith(b'\0'):
            part = peer.recv(65536)
            check(part, 'the daemon hung up')
            reply += part
    return reply[:-1]
