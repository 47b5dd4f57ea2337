# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of `iotracectl start` as parameters of Start, for the machines in which a process takes long to start."""
import re

from lib import rows

UNITS = {'': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'ns': 1, 'us': 10**3, 'ms': 10**6, 's': 10**9, 'm': 60 * 10**9,
         'h': 3600 * 10**9}


def quantity(text):
    number, unit = re.fullmatch(r'(\d*)(.*)', text).groups()
    return int(number) * UNITS[unit] if number and unit in UNITS else None


def texts(text):
    return text.split(',')


def numbers(text):
    return [int(one) for one in text.split(',')]


def item(text):
    return [text]


def sample(text):
    stream, share = text.split('=')
    return {stream: int(share)}


# Of options with a value: the parameter, and what makes the value of it.
VALUES = {
    '--pid': ('pids', numbers), '--command': ('commands', texts), '--uid': ('uids', texts), '--path': ('paths', item),
    '--cgroup': ('cgroups', item), '--unit': ('units', item), '--device': ('devices', texts), '--operation': ('operations', texts),
    '--min-latency': ('min_latency_ns', quantity), '--min-size': ('min_size', quantity), '--sample': ('sample', sample),
    '--duration': ('duration_ns', quantity), '--max-size': ('max_size', quantity), '--max-events': ('max_events', int),
    '--output': ('output', str), '--format': ('format', str), '--compress': ('compress', str),
    '--rotate-size': ('rotate_size', quantity),
}
SWITCHES = {
    '--tree': {'tree': True}, '--errors': {'errors': True}, '--pseudo-fs': {'pseudo_fs': True}, '--no-snapshots': {'snapshots': False},
    '--all': {'streams': list(rows.FOLDERS)}, **{'--' + stream: {'streams': [stream]} for stream in rows.FOLDERS},
}


def merge(parameters, more):
    for name, value in more.items():
        if isinstance(value, list):
            value = parameters.get(name, []) + [one for one in value if one not in parameters.get(name, [])]
        elif isinstance(value, dict):
            value = {**parameters.get(name, {}), **value}
        parameters[name] = value


def parameters_of(options):
    """None where only iotracectl knows one of them, or its value."""
    parameters, words = {}, iter(map(str, options))
    for word in words:
        option, equals, value = word.partition('=')
        if option in SWITCHES and not equals:
            merge(parameters, SWITCHES[option])
        elif option in VALUES:
            name, parse = VALUES[option]
            value = parse(value if equals else next(words))
            if value is None:
                return None
            merge(parameters, {name: value})
        else:
            return None
    return parameters
