# SPDX-License-Identifier: GPL-2.0-or-later
"""Python code in a process of its own that starts no interpreter, which in an emulated machine takes longer than what is tried."""
import gc
import os
import sys
import traceback


def forked(code, *arguments, stdin=None, stdout=None):
    """
    Returns the pid of a fork of this process which executes the code, with the arguments in sys.argv[1:], and ends with 0,
    or with 1 after an exception. It begins with no other descriptors than any program: with the standard ones, two of which
    may be others here.
    """
    pid = os.fork()
    if not pid:
        execute(code, arguments, {0: stdin, 1: stdout})
    return pid


def execute(code, arguments, standard):
    """In the child, which calls nothing that was left to do in its parent."""
    try:
        gc.freeze()
        for number, descriptor in standard.items():
            if descriptor is not None:
                os.dup2(descriptor, number)
        os.closerange(3, os.sysconf('SC_OPEN_MAX'))
        sys.argv = ['-c', *map(str, arguments)]
        sys.stdout = open(1, 'w', encoding='utf-8', closefd=False)  # pylint: disable=consider-using-with
        exec(code, {})  # pylint: disable=exec-used
        os._exit(0)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
        os._exit(1)
