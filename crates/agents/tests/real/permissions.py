"""Sets of permission rules, in each agent's own form, and the commands that are judged by them.

With tamis an agent must allow, refuse and ask exactly as it does without.
"""

import json

TEST = "cargo test"
LIST = "ls -l listing"
TOUCH = "touch made-by-a-session"
BOTH = f"{TEST} && {TOUCH}"


def policy(*rules):
    """A policy file of Gemini CLI: (command prefix, decision) pairs."""
    lines = [
        f'[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = {json.dumps(prefix)}\ndecision = "{decision}"\npriority = {900 - i}\n'
        for i, (prefix, decision) in enumerate(rules)
    ]
    return {"policies/test.toml": "\n".join(lines)}


def prefixes(*rules):
    """A rules file of Codex: (words, decision) pairs."""
    lines = [f'prefix_rule(pattern={json.dumps(words)}, decision="{decision}")\n' for words, decision in rules]
    return {"rules/default.rules": "".join(lines)}


# (name, rules, command line flags, commands; a command that starts with `mcp:` is a call of that tool)
SETS = {
    "claude-code": [
        ("no rules", {}, None, [TEST, LIST, TOUCH, "mcp:echo"]),
        ("allow one", {"allow": ["Bash(cargo test:*)"]}, None, [TEST, TOUCH, BOTH]),
        ("deny one", {"allow": ["Bash"], "deny": ["Bash(cargo test:*)"]}, None, [TEST, BOTH, LIST]),
        ("ask for one", {"allow": ["Bash"], "ask": ["Bash(cargo test:*)"]}, None, [TEST, LIST]),
        ("deny the server", {"allow": ["Bash", "mcp__mini"], "deny": ["mcp__mini__large"]}, None, ["mcp:large", "mcp:echo"]),
        ("plan mode", {"allow": ["Bash(cargo test:*)"]}, ["--permission-mode", "plan"], [TEST, TOUCH]),
        ("edits accepted", {}, ["--permission-mode", "acceptEdits"], [TEST, TOUCH]),
    ],
    "codex": [
        ("read-only sandbox", {}, ["-s", "read-only"], [LIST, TOUCH, TEST, "mcp:echo"]),
        ("workspace sandbox", {}, ["-s", "workspace-write"], [TEST, TOUCH, "touch ~/made-outside", "mcp:echo"]),
        ("forbid one", prefixes((["cargo", "test"], "forbidden")), None, [TEST, BOTH, LIST]),
        ("prompt for one", prefixes((["cargo", "test"], "prompt")), None, [TEST, BOTH, LIST]),
        ("allow one", prefixes((["cargo", "test"], "allow")), ["-s", "read-only"], [TEST, TOUCH, LIST]),
        ("strictest wins", prefixes((["cargo"], "forbidden"), (["cargo", "test"], "allow")), None, [TEST]),
        ("broken rules", {"rules/default.rules": "prefix_rule(pattern=\n"}, None, [TEST]),
    ],
    "opencode": [
        ("deny one", {"bash": {"*": "allow", "cargo test*": "deny"}}, None, [TEST, BOTH, LIST]),
        ("allow one", {"bash": {"*": "deny", "cargo test*": "allow"}}, None, [TEST, LIST, TOUCH]),
        ("ask for all", {"bash": "ask"}, None, [TEST]),
        ("deny the server", {"mini_*": "deny"}, None, [LIST]),
    ],
    "gemini": [
        ("nothing approved", {}, ["--approval-mode", "default"], [TEST, LIST, TOUCH, "mcp:echo"]),
        ("allow one", policy(("cargo test", "allow")), ["--approval-mode", "default"], [TEST, TOUCH, BOTH]),
        ("deny one", policy(("cargo test", "deny")), None, [TEST, BOTH, LIST]),
        ("ask for one", policy(("cargo test", "ask_user")), None, [TEST]),
    ],
}


def calls(agent, commands):
    """A step for each command."""
    return [[agent.mcp(c[4:]) if c.startswith("mcp:") else agent.shell(c)] for c in commands]
