"""The agents: how each one is configured, started headless, and told to call a tool."""

import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

from model import PROMPT, Model

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[3]
sys.path.insert(0, str(REPOSITORY / "crates" / "gateway" / "tests" / "peers"))
from kit import free_port, stop  # noqa: E402

CACHE = pathlib.Path(os.environ.get("TAMIS_PEERS") or REPOSITORY / "target" / "agents")
MODULES = CACHE / "node" / "node_modules"

# Sandboxes let commands write below the temporary folder, so the homes are elsewhere: a write to a home must be refused.
RUNS = CACHE / "runs"

# How long one session with an agent may take.
SESSION_SECONDS = 300


def node_platform():
    """The names of the system and the processor in the names of npm's platform packages."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "")
    return f"{sys.platform}-{machine}"


def cargo_folder():
    """The folder of the toolchain's own `cargo`, which needs no settings in the home folder. None without a toolchain."""
    if shutil.which("rustup"):
        found = subprocess.run(["rustup", "which", "cargo"], capture_output=True, text=True, cwd=REPOSITORY)
        if found.returncode == 0:
            return pathlib.Path(found.stdout.strip()).parent
    found = shutil.which("cargo")
    return pathlib.Path(found).parent if found else None


class Place:
    """The folders of one agent's sessions. Every phase uses the same paths, so that outputs can be compared."""

    def __init__(self, name):
        self.root = RUNS / name
        self.home = self.root / "home"
        self.work = self.root / "work"
        self.bin = self.root / "bin"
        self.temp = self.root / "tmp"
        self.mcp_log = self.root / "mcp.log"
        self.extra_env = {}
        # The address of the model is part of some agents' settings, which must not change between sessions.
        self.port = free_port()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def fresh(self, with_work=True):
        for folder in (self.home, self.bin, self.temp) + ((self.work,) if with_work else ()):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.mcp_log.unlink(missing_ok=True)
        self.extra_env = {}
        if with_work:
            subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        # Codex runs commands in a login shell, which on some systems overrides PATH.
        self.write(".profile", f"PATH='{self.path()}'\nexport PATH\n")

    def path(self):
        folders = [self.bin, cargo_folder(), CACHE / "bin", "/usr/local/bin", "/usr/bin", "/bin"]
        return ":".join(str(folder) for folder in folders if folder)

    def env(self, **more):
        return {
            "PATH": self.path(),
            "HOME": str(self.home),
            "TMPDIR": str(self.temp),
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
            "CARGO_NET_OFFLINE": "true",
            # In the same order in every run.
            "RUST_TEST_THREADS": "1",
            "CARGO_TERM_COLOR": "never",
            **self.extra_env,
            **more,
        }

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Session:
    """One finished session: how the agent ended and what its model received."""

    def __init__(self, model, code, output, seconds):
        self.model = model
        self.code = code
        self.output = output
        self.seconds = seconds

    def result(self, step, index=0):
        return self.model.results.get((step, index))

    @property
    def finished(self):
        """Whether the model received a result for every call."""
        return all((step, i) in self.model.results for step, calls in enumerate(self.model.steps) for i in range(len(calls)))


class Agent:
    name = ""
    label = ""
    variant_of = None
    # Whether the agent says it to its model when a command fails.
    names_exit_code = True
    # How a result names an exit code other than 0.
    exit_code = re.compile(r"\bexit(?:ed)?(?: with)?(?: code)?:? (\d+)", re.I)

    def binary(self):
        raise NotImplementedError

    def available(self):
        return self.binary() is not None

    def version(self):
        package = json.loads((HERE / "package.json").read_text())["optionalDependencies"]
        return package[self.package]

    def place(self):
        return Place(self.label)

    def command(self):
        """The name by which users start the agent."""
        return self.name

    # Settings: `rules` are the agent's own permission rules, in the agent's own form; None allows everything.
    def configure(self, place, url, rules=None):
        raise NotImplementedError

    def start(self, place, url, mode):
        """(words, environment, standard input) of a headless session."""
        raise NotImplementedError

    def shell(self, command, timeout=None, background=False):
        raise NotImplementedError

    def mcp(self, tool, value=None):
        raise NotImplementedError

    def code(self, text):
        """The exit code that a result names; 0 if it names none."""
        found = self.exit_code.search(text)
        return int(found[1]) if found else 0

    def unwrap(self, text):
        """The text of a result without what the agent wraps around it."""
        return text

    def follow(self, step):
        """A call that reads the output of the background command of a step. None: the agent has no tool for it."""
        return None

    def session(self, steps, rules=None, mode=None, log=None, place=None, keep_settings=False, seconds=SESSION_SECONDS):
        """Runs the steps in one session and returns it. The settings are written first unless they are to be kept."""
        place = place or self.place()
        model = Model(steps, log)
        with model.serving(place.port) as url:
            if not keep_settings:
                self.configure(place, url, rules)
            words, env, text = self.start(place, url, mode)
            begin = time.monotonic()
            output = place.root / "output.txt"
            with open(output, "wb") as sink:
                process = subprocess.Popen(
                    [str(word) for word in words],
                    cwd=place.work,
                    env=env,
                    stdin=subprocess.PIPE if text else subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                try:
                    process.communicate(text.encode() if text else None, timeout=seconds)
                    code = process.returncode
                except subprocess.TimeoutExpired:
                    code = None
                finally:
                    stop(process)
            return Session(model, code, output.read_text(errors="replace"), time.monotonic() - begin)

    def server(self, place):
        return [sys.executable, str(HERE / "mcp_server.py"), str(place.mcp_log)]


class Claude(Agent):
    def command(self):
        return "claude"

    name = label = "claude-code"
    package = "@anthropic-ai/claude-code"
    settings = [".claude/settings.json", ".claude.json"]

    def binary(self):
        path = MODULES / "@anthropic-ai" / f"claude-code-{node_platform()}" / "claude"
        return path if path.exists() else None

    def configure(self, place, url, rules=None):
        # Rules of permissions, or settings that have them.
        settings = {"permissions": {"allow": ["Bash", "mcp__mini"]} if rules is None else rules}
        if rules and "permissions" in rules:
            settings = rules
        place.write(".claude/settings.json", json.dumps(settings, indent=2) + "\n")
        words = self.server(place)
        server = {"type": "stdio", "command": words[0], "args": words[1:], "env": {"MINI": "1"}}
        place.write(".claude.json", json.dumps({"mcpServers": {"mini": server}}, indent=2) + "\n")

    def start(self, place, url, mode):
        env = place.env(
            ANTHROPIC_BASE_URL=url,
            ANTHROPIC_API_KEY="dummy",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_TELEMETRY="1",
            DISABLE_AUTOUPDATER="1",
        )
        return [self.binary(), "-p", PROMPT, *(mode or [])], env, None

    def shell(self, command, timeout=None, background=False):
        value = {"command": command}
        if timeout:
            value["timeout"] = timeout
        if background:
            value["run_in_background"] = True
        return {"name": "Bash", "input": value}

    def mcp(self, tool, value=None):
        return {"name": f"mcp__mini__{tool}", "input": value or {}}

    def follow(self, step):
        def call(results):
            found = re.search(r"(/\S+\.output)", results[(step, 0)].text)
            return self.shell(f"sleep 3; cat {found[1] if found else '/missing'}")

        return call


class Codex(Agent):
    name = label = "codex"
    package = "@openai/codex"
    # A model that calls tools directly.
    model_name = "gpt-5.5"
    settings = [".codex/config.toml", ".codex/hooks.json"]

    def binary(self):
        folder = MODULES / "@openai" / f"codex-{node_platform()}" / "vendor"
        found = sorted(folder.glob("*/bin/codex")) + sorted(folder.glob("*/codex/codex"))
        return found[0] if found else None

    def configure(self, place, url, rules=None):
        words = self.server(place)
        place.write(
            ".codex/config.toml",
            "# The settings of a test.\n"
            f'model = "{self.model_name}"\n'
            'model_provider = "scripted"\n\n'
            "[model_providers.scripted]\n"
            'name = "scripted"\n'
            f'base_url = "{url}/v1"\n'
            'env_key = "MODEL_KEY"\n'
            'wire_api = "responses"\n\n'
            "[mcp_servers.mini]\n"
            f"command = {json.dumps(words[0])}\n"
            f"args = {json.dumps(words[1:])}\n",
        )
        for name, text in (rules or {}).items():
            place.write(f".codex/{name}", text)

    def start(self, place, url, mode):
        mode = mode or ["-s", "danger-full-access"]
        # Hooks must be approved on a screen; a test cannot do that.
        words = [self.binary(), "exec", "--dangerously-bypass-hook-trust", *mode, PROMPT]
        return words, place.env(MODEL_KEY="dummy"), None

    def shell(self, command, timeout=None, background=False):
        value = {"cmd": command, "yield_time_ms": 30000}
        if timeout or background:
            value["yield_time_ms"] = 1000
        return {"name": "exec_command", "input": value}

    def mcp(self, tool, value=None):
        return {"namespace": "mcp__mini", "name": tool, "input": value or {}}

    def follow(self, step):
        def call(results):
            found = re.search(r"session ID (\d+)", results[(step, 0)].text)
            session = int(found[1]) if found else 0
            return {"name": "write_stdin", "input": {"session_id": session, "chars": "", "yield_time_ms": 5000}}

        return call


class CodexScripts(Codex):
    """Codex with a model that calls tools from scripts."""

    label = "codex-scripts"
    variant_of = "codex"
    model_name = "gpt-6-sol"
    exit_code = re.compile(r'"exit_code":(\d+)')

    def unwrap(self, text):
        # The result is JSON, unless Codex cut it in the middle.
        return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")

    def shell(self, command, timeout=None, background=False):
        value = super().shell(command, timeout, background)["input"]
        script = f"const r = await tools.exec_command({json.dumps(value)}); text(r);"
        return {"name": "exec", "input": script}

    def mcp(self, tool, value=None):
        return {"name": "exec", "input": f"const r = await tools.mcp__mini__{tool}({json.dumps(value or {})}); text(r);"}

    def follow(self, step):
        def call(results):
            found = re.search(r'"session_id":(\d+)', results[(step, 0)].text)
            value = {"session_id": int(found[1]) if found else 0, "chars": "", "yield_time_ms": 5000}
            return {"name": "exec", "input": f"const r = await tools.write_stdin({json.dumps(value)}); text(r);"}

        return call


class Opencode(Agent):
    name = label = "opencode"
    names_exit_code = False
    package = "opencode-ai"
    settings = [".config/opencode/opencode.json"]

    def binary(self):
        path = MODULES / f"opencode-{node_platform()}" / "bin" / "opencode"
        return path if path.exists() else None

    def configure(self, place, url, rules=None):
        limit = {"context": 200000, "output": 8000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
            "models": {"scripted": {"tool_call": True, "limit": limit}},
        }
        settings = {
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"scripted": provider},
            "mcp": {"mini": {"type": "local", "command": self.server(place)}},
        }
        if rules:
            settings["permission"] = rules
        place.write(".config/opencode/opencode.json", json.dumps(settings, indent=2) + "\n")

    def start(self, place, url, mode):
        env = place.env(
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
            OPENCODE_DISABLE_DEFAULT_PLUGINS="1",
        )
        return [self.binary(), "run", *(mode or [])], env, PROMPT

    def shell(self, command, timeout=None, background=False):
        value = {"command": command, "description": "Runs a command"}
        if timeout:
            value["timeout"] = timeout
        return {"name": "bash", "input": value}

    def mcp(self, tool, value=None):
        return {"name": f"mini_{tool}", "input": value or {}}


class Gemini(Agent):
    name = label = "gemini"
    package = "@google/gemini-cli"
    settings = [".gemini/settings.json"]

    def binary(self):
        path = MODULES / "@google" / "gemini-cli" / "bundle" / "gemini.js"
        return path if path.exists() else None

    def configure(self, place, url, rules=None):
        words = self.server(place)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "tools": {"shell": {"inactivityTimeout": 5}},
            "mcpServers": {"mini": {"command": words[0], "args": words[1:]}},
        }
        place.write(".gemini/settings.json", json.dumps(settings, indent=2) + "\n")
        for name, text in (rules or {}).items():
            place.write(f".gemini/{name}", text)

    def start(self, place, url, mode):
        mode = ["--approval-mode", "yolo"] if mode is None else mode
        words = [CACHE / "bin" / "node", self.binary(), "-m", "gemini-2.5-flash", "--skip-trust", *mode, "-p", PROMPT]
        return words, place.env(GEMINI_API_KEY="dummy", GOOGLE_GEMINI_BASE_URL=url), None

    def shell(self, command, timeout=None, background=False):
        value = {"command": command}
        if background:
            value["is_background"] = True
        return {"name": "run_shell_command", "input": value}

    def mcp(self, tool, value=None):
        return {"name": f"mcp_mini_{tool}", "input": value or {}}

    def follow(self, step):
        def call(results):
            found = re.search(r"PID: (\d+)", results[(step, 0)].text)
            value = {"pid": int(found[1]) if found else 0, "delay_ms": 3000}
            return {"name": "read_background_output", "input": value}

        return call


ALL = [Claude(), Codex(), CodexScripts(), Opencode(), Gemini()]
