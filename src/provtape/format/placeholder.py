"""The placeholder that stands where a secret was (`~REDACTED~<rule>~`).

Decides its grammar. It survives URLs, form encoding and JSON unchanged, and never shows the secret, its ends or its length.
"""

from __future__ import annotations

import re
from typing import Final

RULE_ID: Final = r"[a-z0-9][a-z0-9-]{0,31}"
PLACEHOLDER: Final = re.compile(rf"~REDACTED~({RULE_ID})~")
RESERVED: Final = frozenset(("header", "query", "json-key", "pointer", "local", "memory", "opaque", "unread"))


def placeholder(rule: str) -> str:
    """The placeholder of a rule.

    Raises:
        ValueError: Not a rule id; rule ids come from linted rules, so this is a mistake of the program.

    >>> placeholder("openai-key")
    '~REDACTED~openai-key~'
    """
    if not re.fullmatch(RULE_ID, rule):
        raise ValueError("not a rule id")
    return f"~REDACTED~{rule}~"
