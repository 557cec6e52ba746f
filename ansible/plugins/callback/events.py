# MIT or Apache-2.0
"""Prints one line of JSON for each result of each host, bounded, for a program to read."""

from __future__ import annotations

import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: events
type: stdout
short_description: One line of JSON for each result of each host
description:
  - Prints host, task, state, message and the beginning of the standard output of each result.
"""

# What a host says is cut: it may be hostile, or broken.
MOST = 4096


def cut(value):
    """The beginning of a text."""
    return str(value or "")[:MOST]


class CallbackModule(CallbackBase):
    """Results as lines of JSON."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "iostone.fleet.events"

    def say(self, state, result):
        """Prints one result."""
        found = result._result
        said = found.get("msg") or ""
        if state == "failed":
            # `raw` only says that the code was not zero; why is what the program said, on a terminal to standard output.
            printed = (found.get("stdout") or "") + "\n" + (found.get("stderr") or "")
            lines = [line for line in printed.splitlines() if line.strip() and "Shared connection to" not in line]
            said = "\n".join(lines) or said
        if found.get("exception") and not said:
            said = found["exception"]
        line = {
            "host": result._host.get_name(),
            "task": result._task.get_name(),
            "action": result._task.action,
            "state": state,
            "message": cut(said),
            "stdout": cut(found.get("stdout")),
        }
        self._display.display(json.dumps(line))

    def v2_runner_on_ok(self, result, **kwargs):
        """A task is done."""
        self.say("ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False, **kwargs):
        """A task failed."""
        self.say("failed", result)

    def v2_runner_on_unreachable(self, result, **kwargs):
        """A host cannot be reached."""
        self.say("unreachable", result)
