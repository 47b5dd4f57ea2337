# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests are functions with a decorator; what they raise is the verdict."""
import time
from types import SimpleNamespace

TESTS = []
PATIENCE = 600  # seconds for what takes moments: emulated machines, and such as have other work, are slow


class Skip(Exception):
    """Raised by a test that this machine cannot run, with the reason."""


SHOWN = 4000  # characters of a value that is not as expected


class Failure(Exception):
    """What was expected and what came, in lines."""

    def __init__(self, *lines):
        super().__init__(*lines)
        self.lines = [str(line) for line in lines]


def register(name, run, host_only=False):
    TESTS.append(SimpleNamespace(name=name, run=run, host_only=host_only))


def test(function=None, *, host_only=False):
    """
    The function gets the world (see world.py) and is named module.function. One that says nothing
    about a kernel is host_only: the virtual machines leave it out. A module's GROUP, if it has one,
    stands for its name.
    """
    if function is None:
        return lambda decorated: test(decorated, host_only=host_only)
    group = function.__globals__.get('GROUP') or function.__module__.replace('test_', '')
    register('%s.%s' % (group, function.__name__), function, host_only)
    return function


def check(condition, *lines):
    if not condition:
        raise Failure(*(lines or ('not so',)))


def shortened(value):
    text = repr(value)
    return text if len(text) < SHOWN else '%s... (%d characters)' % (text[:SHOWN], len(text))


def differ(got, expected):
    """Where two lists begin to, and how long they are; or what two sets do not share."""
    if isinstance(got, set) and isinstance(expected, set):
        return ['not there: %s, and not expected: %s' % (shortened(expected - got), shortened(got - expected))]
    if not isinstance(got, list) or not isinstance(expected, list):
        return []
    at = next((at for at, pair in enumerate(zip(got, expected)) if pair[0] != pair[1]),
              min(len(got), len(expected)))
    return ['from number %d on: %d expected: %s, %d there: %s' % (
        at, len(expected), shortened(expected[at:at + 5]), len(got), shortened(got[at:at + 5]))]


def equal(got, expected, what):
    if got != expected:
        raise Failure(what, 'expected ' + shortened(expected), 'got      ' + shortened(got), *differ(got, expected))


def wait_for(what, condition, told=list, pause=0.02):
    """
    The condition's first value that is true; `told` gives lines for where it never is. Nothing is judged by how
    long that takes.
    """
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failure('waited in vain for ' + what, *told())
        time.sleep(pause)
    return value
