//! The table of commands: the module of each, with its flags and the text of its help.
//!
//! This module must not depend on what a command does.

use std::ffi::OsString;

use anstream::ColorChoice;
use clap::{Parser, Subcommand};
use tamis_mcp::program::{MCP_HELP, MCP_HELP_SHORT, McpArgs, SERVE_HELP, ServeArgs};

use crate::commands::{
    audit, check, content, doctor, explain, filter, help, hook, install, look, prune, recall,
    replay, restore, run, savings, scripts, suggest, text, tools, trust,
};
use crate::flags::groups;

/// Filters tool output: keeps the fields you declare and drops the rest as the bytes arrive
#[derive(Debug, Parser)]
#[command(
    name = "tamis",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    args_override_self = true,
    after_help = help::overview()
)]
pub(crate) struct Args {
    #[command(flatten)]
    global: GlobalArgs,

    #[command(subcommand)]
    command: Command,
}

/// The arguments of a command that runs often. Describing all other commands to the parser would take longer than filtering a
/// short document.
#[derive(Debug, Parser)]
#[command(
    name = "tamis",
    max_term_width = 100,
    disable_help_subcommand = true,
    args_override_self = true
)]
struct FrequentArgs {
    #[command(flatten)]
    global: GlobalArgs,

    #[command(subcommand)]
    command: FrequentCommand,
}

/// The arguments of all commands.
#[derive(Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// When to use colours, on standard error and in help; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_parser = groups::colour())]
    pub(crate) color: Option<ColorChoice>,
}

/// Parses what was typed.
///
/// # Errors
/// The arguments are wrong, or ask for the help or the version.
pub(crate) fn parse(typed: &[OsString]) -> Result<(GlobalArgs, Command), clap::Error> {
    let name = typed.get(1).and_then(|name| name.to_str());
    if name.is_some_and(FrequentCommand::has_subcommand) {
        let FrequentArgs { global, command } = FrequentArgs::try_parse_from(typed)?;
        return Ok((global, Command::Frequent(command)));
    }
    let Args { global, command } = Args::try_parse_from(typed)?;
    Ok((global, command))
}

/// Commands that run often.
#[derive(Debug, Subcommand)]
pub(crate) enum FrequentCommand {
    /// Filters a JSON document: keeps the declared values, minifies and validates
    #[command(
        args_override_self = true,
        after_help = filter::HELP_SHORT,
        after_long_help = filter::HELP
    )]
    Filter(Box<filter::FilterArgs>),

    /// Runs a command and prints its filtered output; saves the full output if anything was removed
    #[command(
        args_override_self = true,
        override_usage = "tamis run [OPTIONS] [--] COMMAND [ARG]...",
        after_help = run::HELP_SHORT,
        after_long_help = run::HELP
    )]
    Run(Box<run::RunArgs>),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Frequent(FrequentCommand),

    /// Prints a stored result or a part of it, by the handle that a notice names
    #[command(
        args_override_self = true,
        after_help = recall::HELP_SHORT,
        after_long_help = recall::HELP
    )]
    Recall(Box<recall::RecallArgs>),

    /// Filters the saved output of a command: keeps failures, errors and summaries, removes progress
    #[command(args_override_self = true, after_help = text::HELP)]
    Text(text::TextArgs),

    /// Extracts the main text of a page, or the text of a JSON response, and shortens it at a boundary
    #[command(
        args_override_self = true,
        after_help = content::HELP_SHORT,
        after_long_help = content::HELP
    )]
    Content(content::ContentArgs),

    /// Replaces old tool results in a chat history with placeholders and changes nothing else
    #[command(
        args_override_self = true,
        after_help = prune::HELP_SHORT,
        after_long_help = prune::HELP
    )]
    Prune(Box<prune::PruneArgs>),

    /// Gives back the document that `filter --factor` has written
    #[command(args_override_self = true, after_help = restore::HELP)]
    Restore(restore::RestoreArgs),

    /// Runs a proxy in front of an MCP server, which filters the results of its tools
    #[command(
        args_override_self = true,
        override_usage = "tamis mcp [OPTIONS] -- COMMAND [ARG]...\n       tamis mcp [OPTIONS] --upstream URL",
        after_help = MCP_HELP_SHORT,
        after_long_help = MCP_HELP
    )]
    Mcp(Box<McpArgs>),

    /// Runs servers for Envoy and agentgateway, which filter the responses that these forward
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),

    /// Sums what tamis run, the hooks of agents and tamis mcp have saved, per tool
    #[command(after_help = savings::HELP)]
    Savings(savings::SavingsArgs),

    /// Lets a coding agent filter the output of its tools: prints the changes to its settings and makes them
    #[command(
        args_override_self = true,
        after_help = install::INSTALL_HELP_SHORT,
        after_long_help = install::INSTALL_HELP
    )]
    Install(install::InstallArgs),

    /// Removes what `tamis install` added, and nothing else
    #[command(args_override_self = true, after_help = install::UNINSTALL_HELP)]
    Uninstall(install::UninstallArgs),

    /// Examines what is installed for coding agents, and whether it works
    #[command(after_help = doctor::HELP)]
    Doctor(doctor::DoctorArgs),

    /// Accepts the rules for commands of a project's tamis.yaml, for the hooks of coding agents
    #[command(after_help = trust::HELP)]
    Trust(trust::TrustArgs),

    /// Shows where the tokens of a document, a chat or the output of a command are
    #[command(
        args_override_self = true,
        after_help = look::HELP_SHORT,
        after_long_help = look::HELP
    )]
    Look(Box<look::LookArgs>),

    /// Replays sessions of coding agents: what filters would have shown of what was used later, and what it costs
    #[command(
        args_override_self = true,
        after_help = replay::HELP_SHORT,
        after_long_help = replay::HELP
    )]
    Replay(Box<replay::ReplayArgs>),

    /// Describes how a filter runs: its stages, what each one buffers and why, and the fate of each path
    #[command(
        args_override_self = true,
        after_help = explain::HELP_SHORT,
        after_long_help = explain::HELP
    )]
    Explain(Box<explain::ExplainArgs>),

    /// Suggests a filter from sample responses, or compares samples with a filter
    #[command(
        args_override_self = true,
        after_help = suggest::HELP_SHORT,
        after_long_help = suggest::HELP
    )]
    Suggest(suggest::SuggestArgs),

    /// Validates manifests and reports errors with line and column
    #[command(after_help = check::HELP)]
    Check(check::CheckArgs),

    /// Attacks filters with hostile documents and reports each value that leaves although a rule removes it
    #[command(
        args_override_self = true,
        after_help = audit::HELP_SHORT,
        after_long_help = audit::HELP
    )]
    Audit(Box<audit::AuditArgs>),

    /// Lists the tools of the built-in catalog, or of manifests, and the values their filters keep
    #[command(after_help = tools::HELP)]
    Tools(tools::ToolsArgs),

    /// Shows the help of a command, or a page on a topic
    #[command(after_help = help::HELP)]
    Help(help::HelpArgs),

    /// Prints a completion script for a shell
    #[command(after_help = scripts::COMPLETIONS)]
    Completions(scripts::CompletionsArgs),

    /// Runs a hook of a coding agent
    ///
    /// Intended for agents: tamis install sets it up.
    #[command(hide = true, after_help = hook::HELP)]
    Hook(hook::HookArgs),

    /// Prints the manual page, or writes one for each command into a folder
    ///
    /// Intended for packagers.
    #[command(hide = true, after_help = scripts::MAN)]
    Man(scripts::ManArgs),
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{Args, FrequentArgs};

    /// The parser of frequent commands says the same as that of all commands.
    #[test]
    fn frequent_commands_are_parsed_like_all_others() {
        let typed = [
            "tamis filter --help",
            "tamis filter -h",
            "tamis filter --nothing",
            "tamis filter --colour never",
            "tamis filter --color blue",
            "tamis filter --select",
            "tamis filter --max-items few",
            "tamis run --help",
            "tamis run -h",
            "tamis run",
            "tamis run --nothing -- true",
        ];
        for typed in typed.map(|typed| typed.split(' ')) {
            let said = |error: clap::Error| (error.exit_code(), error.render().ansi().to_string());
            assert_eq!(
                said(FrequentArgs::try_parse_from(typed.clone()).unwrap_err()),
                said(Args::try_parse_from(typed).unwrap_err()),
            );
        }
    }
}
