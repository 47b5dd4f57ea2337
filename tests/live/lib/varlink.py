# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls to the daemon over its socket; in an emulated machine a process for each of them takes long."""
import json
import socket

from lib.registry import PATIENCE, Failure, check

SOCKET = '/run/iotracer/io.iotracer'


def ask(path, method, patience=PATIENCE, **parameters):
    """The parameters of the reply."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path or SOCKET)
        peer.settimeout(patience)
        message = {'method': 'io.iotracer.' + method, 'parameters': parameters}
        peer.sendall(json.dumps(message).encode() + b'\0')
        reply = b''
        while not reply.endswith(b'\0'):
            part = peer.recv(65536)
            check(part, 'the daemon hung up')
            reply += part
    document = json.loads(reply[:-1])
    if 'error' in document:
        raise Failure('%s: %s' % (method, document['error']), document.get('parameters'))
    return document['parameters']
