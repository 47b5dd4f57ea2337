# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls to the daemon over its socket; in an emulated machine to start iotracectl for each of them takes long."""
import json
import os
import socket

from lib.registry import PATIENCE, Failure, check

SOCKET = '/run/iotracer/io.iotracer'


def ask(path, method, patience=PATIENCE, **parameters):
    """The parameters of the reply."""
    return of_reply(method, exchanged(path or SOCKET, method, parameters, patience))


def ask_apart(path, method, **parameters):
    """The same by a child, as what a process does while it is connected is in no row."""
    ends = os.pipe()
    child = os.fork()
    if not child:
        try:
            text = exchanged(path or SOCKET, method, parameters, PATIENCE)
        except BaseException as error:  # pylint: disable=broad-except
            text = json.dumps({'error': str(error)}).encode()
        with open(ends[1], 'wb') as file:
            file.write(text)
        os._exit(0)
    os.close(ends[1])
    with open(ends[0], 'rb') as file:
        reply = file.read()
    os.waitpid(child, 0)
    return of_reply(method, reply)


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
