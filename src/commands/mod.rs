//! One file a verb: its arguments, whose doc comment is the help, and its function.

mod agent;
pub mod app;
mod approvals;
mod archive;
mod boards;
mod budget;
mod carry;
mod charter;
mod charter_test;
mod commit;
mod complete_ids;
mod completions;
mod config;
mod demo;
mod directive;
mod doctor;
mod drill;
mod event;
mod gate;
mod health;
mod inbox;
mod init;
mod init_git;
mod logs;
mod man;
mod memory;
mod message;
mod pause;
mod portfolio;
mod project;
mod prompt;
mod questions;
mod recover;
mod rehearse;
mod replay;
mod report;
mod requests;
mod run_id;
mod run_loop;
mod running;
mod runs;
mod schedule;
mod schedulers;
mod schema;
mod selftest;
mod send;
mod service;
mod service_status;
mod simulate;
mod stalled;
mod stats;
mod status;
mod stop;
mod task;
mod task_show;
mod tick;
mod top;
#[cfg(feature = "top")]
mod top_view;
mod trail;
mod trial;
mod undo;
mod verify;
mod watch;
mod why;

use crate::ui::Answer;
use app::{App, Result};
pub use tick::TickArgs;

pub use man::pages as manual_pages;

/// Every command there is. Each one's arguments are built when it is called, not at every start.
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub enum Command {
    Init(init::InitArgs),
    Demo(demo::DemoArgs),
    Doctor(doctor::DoctorArgs),
    Send(send::SendArgs),
    Inbox(inbox::InboxArgs),
    Outbox(inbox::OutboxArgs),
    Message(message::MessageArgs),
    Directive(directive::DirectiveArgs),
    Project(project::ProjectArgs),
    Questions(questions::QuestionsArgs),
    RunLoop(run_loop::RunLoopArgs),
    RunDirector(run_loop::RunDirectorArgs),
    Tick(tick::TickArgs),
    Watch(watch::WatchArgs),
    Schedule(schedule::ScheduleArgs),
    Event(event::EventArgs),
    Schedulers(schedulers::SchedulersArgs),
    Config(config::ConfigArgs),
    Service(service::ServiceArgs),
    Charter(charter::CharterArgs),
    Approvals(approvals::ApprovalsArgs),
    Budget(budget::BudgetArgs),
    Gate(gate::GateArgs),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    StopLoop(stop::StopLoopArgs),
    StopAll(stop::StopAllArgs),
    Task(task::TaskArgs),
    Agent(agent::AgentArgs),
    Escalations(questions::EscalationsArgs),
    Status(status::StatusArgs),
    Why(why::WhyArgs),
    Top(top::TopArgs),
    Logs(logs::LogsArgs),
    Runs(runs::RunsArgs),
    ActiveRuns(stop::ActiveRunsArgs),
    Memory(memory::MemoryArgs),
    Prompt(prompt::PromptArgs),
    Stats(stats::StatsArgs),
    Report(report::ReportArgs),
    Health(health::HealthArgs),
    Verify(verify::VerifyArgs),
    Drill(drill::DrillArgs),
    Selftest(selftest::SelftestArgs),
    #[command(hide = true)]
    Die(selftest::DieArgs),
    Recover(recover::RecoverArgs),
    Commit(commit::CommitArgs),
    Undo(undo::UndoArgs),
    Replay(replay::ReplayArgs),
    Rehearse(rehearse::RehearseArgs),
    Simulate(simulate::SimulateArgs),
    Archive(archive::ArchiveArgs),
    Prune(archive::PruneArgs),
    Export(carry::ExportArgs),
    Import(carry::ImportArgs),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    CompleteWords(completions::WordsArgs),
    Man(man::ManArgs),
}

/// Runs a command; none is `status`.
pub fn run(command: Option<&Command>, app: &App<'_>) -> Result<Answer> {
    match command {
        None => status::run(&status::StatusArgs::default(), app),
        Some(Command::Init(args)) => init::run(args, app),
        Some(Command::Send(args)) => send::run(args, app),
        Some(Command::Inbox(args)) => inbox::inbox(args, app),
        Some(Command::Outbox(args)) => inbox::outbox(args, app),
        Some(Command::Message(args)) => message::run(args, app),
        Some(Command::Directive(args)) => directive::run(args, app),
        Some(Command::Project(args)) => project::run(args, app),
        Some(Command::Demo(args)) => demo::run(args, app),
        Some(Command::RunLoop(args)) => run_loop::run_loop(args, app),
        Some(Command::RunDirector(args)) => run_loop::run_director(args, app),
        Some(Command::Tick(args)) => tick::run(args, app),
        Some(Command::Watch(args)) => watch::run(args, app),
        Some(Command::Event(args)) => event::run(args, app),
        Some(Command::Schedule(args)) => schedule::run(args, app),
        Some(Command::Schedulers(args)) => schedulers::run(args, app),
        Some(Command::Why(args)) => why::run(args, app),
        Some(Command::Config(args)) => config::run(args, app),
        Some(Command::Doctor(args)) => doctor::run(args, app),
        Some(Command::Drill(args)) => drill::run(args, app),
        Some(Command::Selftest(args)) => selftest::run(args, app),
        Some(Command::Die(args)) => selftest::die(args, app),
        Some(Command::Health(args)) => health::run(args, app),
        Some(Command::Service(args)) => service::run(args, app),
        Some(Command::Questions(args)) => questions::questions(args, app),
        Some(Command::Escalations(args)) => questions::escalations(args, app),
        Some(Command::Approvals(args)) => approvals::run(args, app),
        Some(Command::Task(args)) => task::run(args, app),
        Some(Command::Agent(args)) => agent::run(args, app),
        Some(Command::Budget(args)) => budget::run(args, app),
        Some(Command::Pause(args)) => pause::pause(args, app),
        Some(Command::Resume(args)) => pause::resume(args, app),
        Some(Command::Verify(args)) => verify::run(args, app),
        Some(Command::Gate(args)) => gate::run(args, app),
        Some(Command::StopLoop(args)) => stop::stop_loop(args, app),
        Some(Command::StopAll(args)) => stop::stop_all(args, app),
        Some(Command::Logs(args)) => logs::run(args, app),
        Some(Command::Runs(args)) => runs::run(args, app),
        Some(Command::ActiveRuns(args)) => stop::active_runs(args, app),
        Some(Command::Memory(args)) => memory::run(args, app),
        Some(Command::Replay(args)) => replay::run(args, app),
        Some(Command::Archive(args)) => archive::archive(args, app),
        Some(Command::Prune(args)) => archive::prune(args, app),
        Some(Command::Rehearse(args)) => rehearse::run(args, app),
        Some(Command::Simulate(args)) => simulate::run(args, app),
        Some(Command::Undo(args)) => undo::run(args, app),
        Some(Command::Commit(args)) => commit::run(args, app),
        Some(Command::Recover(args)) => recover::run(args, app),
        Some(Command::Charter(args)) => charter::run(args, app),
        Some(Command::Status(args)) => status::run(args, app),
        Some(Command::Top(args)) => top::run(args, app),
        Some(Command::Prompt(args)) => prompt::run(args, app),
        Some(Command::Stats(args)) => stats::run(args, app),
        Some(Command::Report(args)) => report::run(args, app),
        Some(Command::Schema(args)) => schema::run(args, app),
        Some(Command::Export(args)) => carry::export(args, app),
        Some(Command::Import(args)) => carry::import(args, app),
        Some(Command::Completions(args)) => Ok(completions::run(args)),
        Some(Command::CompleteWords(args)) => completions::words(args, app),
        Some(Command::Man(args)) => man::run(args),
    }
}
