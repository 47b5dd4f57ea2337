#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_interrupt.py IOTRACECTL: Ctrl-C while a trace is read: the line of progress is gone, and what is written is not there."""
import hashlib
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

import export_trace

ROWS, SEGMENTS = 20000, 1000  # of which no machine reads all before it is interrupted
CLEAR = b'\r\033[K'


def make(folder, segments=SEGMENTS):
    """A trace of very many segments, which are all one file."""
    export_trace.make(folder, vfs=({'filename': '/f%d' % (i % 10)} for i in range(ROWS)))
    path = os.path.join(folder, 'manifest.json')
    with open(path, encoding='utf-8') as file:
        manifest = json.load(file)
    first = manifest['segments'][0]
    with open(os.path.join(folder, first['path']), 'rb') as file:
        first['sha256'] = hashlib.sha256(file.read()).hexdigest()
    for number in range(2, segments + 1):
        name = 'fs/fs_%06d.csv' % number
        os.link(os.path.join(folder, first['path']), os.path.join(folder, name))
        manifest['segments'].append({**first, 'path': name})
    manifest['streams']['vfs'].update(emitted=ROWS * segments, written=ROWS * segments)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(manifest, file)


def read_until(terminal, mark, text=b''):
    deadline = time.monotonic() + 60
    while mark not in text and time.monotonic() < deadline:
        text += os.read(terminal, 4096)
    return text


def interrupt(words, number):
    """What the program wrote to its terminal, and how it ended, when it gets that signal while it shows how far it is."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        text = read_until(ours, b' %  ')
        process.send_signal(number)
        code = process.wait(60)
    try:
        while True:
            text += os.read(ours, 4096)
    except OSError:  # nobody has the terminal any more
        os.close(ours)
    return text, code


def interrupt_copy(program, trace, out):
    """What `anonymize` says, and how it ends, when it gets SIGINT while it writes."""
    with subprocess.Popen([program, 'anonymize', trace, out], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        while process.poll() is None and not os.path.isdir(os.path.join(out, 'fs')):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        return process.stderr.read(), process.wait(60)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        trace, page = os.path.join(work, 'trace'), os.path.join(work, 'page.html')
        make(trace)
        with open(page, 'w', encoding='utf-8') as file:
            file.write('before')
        for words, number in ((('summary', trace), signal.SIGINT), (('compare', trace, trace), signal.SIGTERM),
                              (('verify', trace), signal.SIGINT),
                              (('report', trace, '--output', page, '--force'), signal.SIGINT),
                              (('report', trace, '--output', page + '.new'), signal.SIGHUP)):
            text, code = interrupt([program, *words], number)
            assert text.endswith(CLEAR) and b' %  ' in text, '%s: %r' % (words, text[-200:])
            assert code == -number, '%s: it ended with %d' % (words, code)
        text, code = interrupt([program, 'export', trace, page + '.new', '--perfetto'], signal.SIGINT)
        assert text.endswith(b'interrupted, and removed\r\n') and CLEAR + b'iotracectl: ' in text and code == 1, text[-200:]
        assert sorted(os.listdir(work)) == ['page.html', 'trace'], os.listdir(work)
        make(os.path.join(work, 'short'), 50)
        for out in (os.path.join(work, 'new'), os.path.join(work, 'empty')):
            if out.endswith('empty'):
                os.mkdir(out)
            text, code = interrupt_copy(program, os.path.join(work, 'short'), out)
            assert b'interrupted' in text and code == 1, '%s: it ended with %d: %s' % (out, code, text)
        assert sorted(os.listdir(work)) == ['empty', 'page.html', 'short', 'trace'], os.listdir(work)
        assert not os.listdir(os.path.join(work, 'empty')), 'part of a copy'
        with open(page, encoding='utf-8') as file:
            assert file.read() == 'before', 'a page was written over'


main()
