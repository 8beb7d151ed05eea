//! `tamis hook`: what coding agents call.
//!
//! This module must not depend on the agents: `tamis_agents` knows what they send and take.

use std::ffi::OsString;
use std::io;

use tamis_agents::hook::EventHook;
#[cfg(unix)]
use tamis_agents::hook::{HookPlaces, HookSettings};
use tamis_mcp::config::ConfigFiles;

use crate::console::{Console, Exit, Usage, print};

pub(crate) const HELP: &str = "\
Hooks:
  shell SCRIPT    the shell prefix of Claude Code: runs the script and filters its output
  claude-code     PostToolUse of Claude Code: shortens long results of Grep, Glob and WebFetch
  codex           PreToolUse of Codex: rewrites a command to `tamis run`
  gemini          AfterTool of Gemini CLI
  opencode        tool.execute.after of opencode, through its plugin
  cursor          postToolUse of Cursor

The event is read from standard input. If it is not understood, nothing is printed and the exit code is 0.";

#[derive(Debug, clap::Args)]
pub(crate) struct HookArgs {
    /// Whose hook it is
    #[arg(value_name = "HOOK")]
    hook: OsString,

    /// Which tamis.yaml applies: that of the user, or that of the project with the user's
    #[arg(long, value_name = "WHICH", value_parser = ["user", "project"], default_value = "user")]
    config: String,

    /// The script of the shell prefix
    #[arg(value_name = "SCRIPT", allow_hyphen_values = true)]
    script: Option<OsString>,
}

/// Runs `tamis hook` if the words are its usual form, without the parser, whose set-up takes longer than a short hook.
pub(crate) fn run_typed(typed: &[OsString]) -> Option<Exit> {
    let [_, command, hook, flag, config, rest @ ..] = typed else { return None };
    if command != "hook" || flag != "--config" {
        return None;
    }
    let files = files(config.to_str()?)?;
    match rest {
        [script] if hook == "shell" => Some(shell(script, files)),
        [] => Some(answer(hook.to_str()?.parse().ok()?, files)),
        _ => None,
    }
}

/// Runs `tamis hook`.
pub(crate) fn run(args: &HookArgs) -> Exit {
    let files = files(&args.config).unwrap_or(ConfigFiles::User);
    let hook = args.hook.to_string_lossy();
    match (&*hook, &args.script) {
        ("shell", Some(script)) => return shell(script, files),
        ("shell", None) => {
            return Console::default().refuse(&Usage::new("shell takes the script as an argument"));
        }
        (_, None) => {}
        (_, Some(_)) => {
            let message = format!("{} reads its event from standard input", hook.escape_debug());
            return Console::default().refuse(&Usage::new(message));
        }
    }
    match hook.parse() {
        Ok(hook) => answer(hook, files),
        Err(error) => {
            let message = format!("{}: {error}", hook.escape_debug());
            Console::default().refuse(&Usage::new(message))
        }
    }
}

/// Returns the files that a word stands for. Those of a project never replace the user's rules.
fn files(word: &str) -> Option<ConfigFiles> {
    match word {
        "user" => Some(ConfigFiles::User),
        "project" => Some(ConfigFiles::Both),
        _ => None,
    }
}

fn answer(hook: EventHook, files: ConfigFiles) -> Exit {
    if !print::can_print() {
        return Exit::Failed;
    }
    // Agents show it to the user, if at all, and take the response from standard output. That of Cursor handles no commands.
    #[cfg(not(unix))]
    if hook != EventHook::Cursor {
        Console::default().note(format_args!(
            "`tamis hook {hook}` does not shorten the output of commands on {} yet",
            crate::system::unavailable::system()
        ));
    }
    hook.run(files, &mut io::stdin().lock(), &mut io::stdout().lock());
    Exit::Done
}

/// Scripts are run only on Unix.
#[cfg(not(unix))]
fn shell(_script: &OsString, _files: ConfigFiles) -> Exit {
    crate::system::unavailable::report("hook shell", crate::system::unavailable::AGENTS)
}

#[cfg(unix)]
fn shell(script: &OsString, files: ConfigFiles) -> Exit {
    use std::os::unix::process::CommandExt as _;

    use tamis_agents::hook::shell::{ShellPlan, plan};

    // Before the command runs, which may change something.
    if !print::can_print() {
        return Exit::Failed;
    }
    let settings = HookSettings::load(&HookPlaces::of_process(files));
    let mut command = match plan(script, &settings) {
        ShellPlan::Filter(run) => return filtered(*run, &settings),
        ShellPlan::Replace(command) => command,
    };
    let error = command.exec();
    Console::default().say(&command.get_program().to_string_lossy(), &error);
    Exit::Code(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

/// Runs a command of the model, filters its output, and ends as the command did.
#[cfg(unix)]
fn filtered(run: tamis_agents::hook::shell::ShellRun, settings: &HookSettings) -> Exit {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use tamis_agents::hook::command_text::reads_again;
    use tamis_agents::recorder::StoreRecorder;
    use tamis_command::CommandRunner;
    use tamis_store::calls::{CallLine, ShownBy, TextSize};

    use crate::files;
    use crate::files::Patient;
    use crate::system::signals;

    /// How long the output may be silent after the end of the command. Later output is not lost.
    const LINGER: Duration = Duration::from_millis(50);

    let begun = std::time::Instant::now();
    let program = run.line.program_name().unwrap_or("sh").to_owned();
    let reads_again = reads_again(run.line.typed());
    let cap = run.cap;
    let runner = CommandRunner::new(run.registry)
        .with_cap(run.cap)
        .with_invisible_removed(run.cleans)
        .with_command_line(run.line)
        .with_overflow(run.recorder)
        .with_linger(LINGER)
        .with_rest(true);
    let name = run.command.get_program().to_owned();
    _ = signals::wait_for_children();
    let report = files::standard_output().and_then(|output| {
        let started = |controls| _ = signals::forward(controls);
        // The agent takes every line for output of the command, so nothing is said.
        runner.run(run.command, Patient(output), started, |_warning| {})
    });
    match report {
        Err(error) => {
            Console::default().say(&name.to_string_lossy(), &error);
            Exit::Code(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
        Ok(report) => {
            let (output, rule) = (&report.output, report.output.filter.as_deref());
            let bytes = [output.bytes_in, output.bytes_out];
            let sizes = [(output.bytes_in, output.chars_in), (output.bytes_out, output.chars_out)]
                .map(|(bytes, chars)| TextSize { bytes, chars });
            let mut call = CallLine::new(&program, rule.unwrap_or_default(), bytes)
                .with_handle(report.record.as_ref().and_then(StoreRecorder::handle))
                .with_times(report.filter_time, Some(begun.elapsed()))
                .with_exit_code(output.exit_code)
                .with_invisible(report.invisible)
                .with_redacted(&output.redacted)
                .with_command_shown(
                    Some(ShownBy::ClaudeCode),
                    cap.is_failure(output.exit_code),
                    sizes,
                );
            if reads_again {
                call = call.with_outcome("retrieved", None);
            }
            settings.log(&call);
            if let Some(rest) = report.rest {
                // A server that the command started goes on writing to where the command wrote.
                _ = Command::new("cat").stdin(Stdio::from(rest)).stderr(Stdio::null()).spawn();
            }
            signals::end_as(report.status)
        }
    }
}
