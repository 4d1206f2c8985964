// forebayctl: shows what the daemon does, finds faults, and changes jobs.

#include <google/protobuf/stubs/logging.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/edit_distance.h"
#include "proto/version.h"
#include "tools/forebayctl/caps.h"
#include "tools/forebayctl/runtime_dir.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

using Verb = int (*)(const Options&);

// A parsed command line.
struct CommandLine {
  Options options;
  Verb verb = nullptr;
};

// Returns the option's value; throws its error for CLI11 to report.
double Parsed(const std::string& option, const absl::StatusOr<double>& value) {
  if (value.ok()) return *value;
  throw CLI::ValidationError(option, std::string(value.status().message()));
}

// Refuses all but the numbers from `least` to `most`. CLI::Range is not used,
// as it accepts NaN and prints six decimals of each bound.
CLI::Validator From(double least, double most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        double number = 0;
        if (!absl::SimpleAtod(text, &number) || std::isnan(number))
          return absl::StrCat(text, " is not a number");
        if (number >= least && number <= most) return "";
        return absl::StrCat(text, " is not from ", least, " to ", most);
      },
      "");
}

// Returns an error if the value is empty, and "" if it is not: CLI11 takes ""
// as success.
std::string RefuseEmpty(const std::string& text) {
  return text.empty() ? "is empty" : "";
}

// Adds a verb, which sets `line->verb` when the command line names it.
void AddVerb(CLI::App* app, const std::string& name,
             const std::string& description, Verb verb, CommandLine* line) {
  app->add_subcommand(name, description)->fallthrough()->callback([=] {
    line->verb = verb;
  });
}

// Adds the verb `inspect` with its options.
void DescribeInspect(CLI::App* app, CommandLine* line) {
  AddVerb(app, "inspect", "Say what is in a dataset, and how to read it",
          &RunInspect, line);
  Options* const options = &line->options;
  CLI::App* inspect = app->get_subcommand("inspect");
  inspect
      ->add_option("URI", options->uri,
                   "A folder, a file, or several by braces and wildcards; on "
                   "this host, gs://, s3://, hdfs:// or https://")
      ->required()
      ->check(RefuseEmpty);
  inspect
      ->add_option("--fields", options->fields,
                   "The fields to look at, such as jpg,cls, of formats that "
                   "have a choice. Default: guessed")
      ->check(RefuseEmpty);
  inspect
      ->add_option("--extra-root", options->extra_roots,
                   "A folder that links in the dataset may lead to. May be "
                   "given several times")
      ->allow_extra_args(false)
      ->check(RefuseEmpty);
  inspect->add_flag("--verify", options->verify,
                    "Read every sample, and list what is broken. Exit code 1 "
                    "if anything is");
  inspect
      ->add_option("-o,--output", options->sheet,
                   "A PNG file to write: a contact sheet of samples")
      ->check(RefuseEmpty);
  inspect
      ->add_option("--show", options->show,
                   "Broken samples to list at most, 0 to 1000000. Default 20")
      ->check(From(0, 1000000));
}

// Describes the whole command line to CLI11.
void Describe(CLI::App* app, CommandLine* line) {
  Options& options = line->options;
  app->require_subcommand(1);
  app->set_version_flag("--version",
                        std::string("forebayctl ") + proto::kVersion);
  app->add_option("--runtime-dir", options.runtime_dir,
                  "Folder of the daemon's sockets. Default: "
                  "$FOREBAY_RUNTIME_DIR, else /run/forebay if a daemon is "
                  "there, else $XDG_RUNTIME_DIR/forebay, else "
                  "/tmp/forebay-UID");
  app->add_flag("--json", options.json,
                "Print JSON: a message of proto/admin.proto or proto/cli.proto "
                "with its field names, 64-bit integers as strings (inspect: as "
                "numbers)");
  app->footer(
      "`forebayctl help VERB` shows the options of a subcommand.\n"
      "Exit code: 0 done, 1 failed or (doctor) something is wrong, 2 bad "
      "command line, 3 no daemon.");
  AddVerb(app, "status", "Show the state of the daemon", &RunStatus, line);
  AddVerb(app, "jobs", "List every job and its loaders", &RunJobs, line);
  AddVerb(app, "queues", "Show where each loader's batches are", &RunQueues,
          line);
  AddVerb(app, "cache", "Show what the cache holds, and what that saved",
          &RunCache, line);
  AddVerb(app, "top", "Show live what each job gets; q quits", &RunTop, line);
  AddVerb(app, "peek", "Write a picture of the batch that a job sees", &RunPeek,
          line);
  DescribeInspect(app, line);
  AddVerb(app, "set", "Change a job while it runs", &RunSet, line);
  AddVerb(app, "doctor", "Say what is wrong, in plain sentences", &RunDoctor,
          line);
  AddVerb(app, "version", "Show the versions of forebayctl and the daemon",
          &RunVersion, line);

  CLI::App* top = app->get_subcommand("top");
  top->add_option("--interval", options.interval_seconds,
                  "Seconds between two samples, 0.1 to 3600. Default 1")
      ->check(From(0.1, 3600));
  top->add_flag("--once", options.once, "Print one sample and exit");
  CLI::App* set = app->get_subcommand("set");
  set->add_option("JOB", options.job, "The job's name or key")->required();
  CLI::Option_group* changes = set->add_option_group("Changes");
  changes->require_option(1, 0);
  changes
      ->add_option("--weight", options.weight,
                   "Its share of contended resources beside other jobs, 0.001 "
                   "to 1000")
      ->check(From(0.001, 1000));
  changes->add_option_function<std::string>(
      "--max-read",
      [&options](const std::string& text) {
        options.max_read = Parsed("--max-read", ParseReadCap(text));
      },
      "The most that it may read of each source, even where no other job "
      "reads, such as 200MB/s; none: no cap");
  changes->add_option_function<std::string>(
      "--max-cpu",
      [&options](const std::string& text) {
        options.max_cpu = Parsed("--max-cpu", ParseCpuCap(text));
      },
      "The most CPUs that decoding and transforming may take for it, such as 2 "
      "or 0.5; none: no cap");
  CLI::App* peek = app->get_subcommand("peek");
  peek->add_option("JOB", options.job, "The job's name or key")->required();
  peek->add_option("--loader", options.loader,
                   "The loader's name. Default: the first that runs");
  peek->add_option("-o,--output", options.output,
                   "The PNG file to write. Default batch.png")
      ->check(RefuseEmpty);
  peek->add_option("--count", options.count,
                   "Images to show at most, 1 to 4096. Default 64")
      ->check(From(1, 4096));
}

// Flushes standard output, and returns `code`. If the output cannot be written,
// as on a full disk, reports that and returns an error's exit code.
int Flush(int code) {
  if (std::cout.flush()) return code;
  return Complain(absl::UnavailableError("standard output cannot be written"));
}

// Returns the name that `unknown` is probably meant to be, or an empty text if
// none is near.
std::string Nearest(const std::vector<std::string>& names,
                    const std::string& unknown) {
  std::string nearest;
  std::size_t least = proto::MostEdits(unknown) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = proto::EditDistance(name, unknown);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

// Appends the long options of `verb` to `names`. If `verb` is the whole
// program, these are the options that all verbs share.
void AppendOptions(const CLI::App& verb, std::vector<std::string>* names) {
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames())
      names->push_back("--" + name);
  }
  // CLI11 keeps a group of options as a nameless subcommand.
  for (const CLI::App* each : verb.get_subcommands(nullptr)) {
    if (each->get_name().empty()) AppendOptions(*each, names);
  }
}

// Returns the name that `unknown` is probably meant to be: a verb, an option of
// the verb that the command line names, or an option that all verbs share.
std::string Meant(const CLI::App& app, const CLI::App& verb,
                  const std::string& unknown) {
  std::vector<std::string> names;
  if (unknown.rfind('-', 0) == 0) {
    AppendOptions(app, &names);
    AppendOptions(verb, &names);
  } else if (&app == &verb) {
    for (const CLI::App* each : app.get_subcommands(nullptr))
      names.push_back(each->get_name());
  }
  return Nearest(names, unknown);
}

// Returns an error message: what is wrong with the command line, and which
// command prints help.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> named = app.get_subcommands();
  const CLI::App& verb = named.empty() ? app : *named.front();
  const std::vector<std::string> unknown = app.remaining(true);
  std::string fault = error.what();
  if (!unknown.empty()) {
    const bool is_option = unknown.front().rfind('-', 0) == 0;
    if (is_option || named.empty())
      fault =
          absl::StrCat("there is no ", is_option ? "option " : "subcommand ",
                       unknown.front());
    const std::string meant = Meant(app, verb, unknown.front());
    if (!meant.empty()) absl::StrAppend(&fault, "; did you mean ", meant, "?");
  }
  return absl::StrCat(fault, " (see forebayctl ",
                      named.empty() ? "" : verb.get_name() + " ", "--help)");
}

// Returns the words of the command line. `help VERB` is short for
// `VERB --help`.
std::vector<std::string> Words(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    const auto is_asked_for = [&](const CLI::App* verb) {
      return verb->check_name(words.front());
    };
    // With --help, CLI11 would not report an unknown verb as an error.
    if (words.empty() || !app.get_subcommands(is_asked_for).empty())
      words.push_back("--help");
  }
  return words;
}

// Parses the command line, runs its verb, and returns the exit code.
int Main(int argc, char** argv) {
  CLI::App app("Shows what forebayd does for the training jobs of this host.",
               "forebayctl");
  CommandLine line;
  Describe(&app, &line);
  try {
    std::vector<std::string> words = Words(app, argc, argv);
    std::reverse(words.begin(), words.end());  // CLI11 wants the last one first
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    // CLI11 throws for --help too.
    if (error.get_exit_code() == 0) return Flush(app.exit(error));
    std::cerr << "forebayctl: " << Complaint(app, error) << "\n";
    return kUsage;
  }
  // RunInspect passes the directory on only if the user named it.
  line.options.is_runtime_dir_given = !line.options.runtime_dir.empty();
  line.options.runtime_dir =
      FindRuntimeDir(line.options.runtime_dir, [](const std::string& name) {
        const char* value = std::getenv(name.c_str());
        return std::string(value == nullptr ? "" : value);
      });
  // Protobuf would write to stderr about requests that it cannot read. The
  // daemon's answer already says so.
  google::protobuf::SetLogHandler(nullptr);
  return Flush(line.verb(line.options));
}

}  // namespace
}  // namespace forebay::ctl

int main(int argc, char** argv) { return forebay::ctl::Main(argc, argv); }
