#ifndef FOREBAY_TOOLS_FOREBAYCTL_VERB_H_
#define FOREBAY_TOOLS_FOREBAYCTL_VERB_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/forebayctl/admin_client.h"

namespace forebay::ctl {

// The exit codes of `forebayctl`.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,    // the request failed, or `doctor` found a problem
  kUsage = 2,     // the command line is malformed
  kNoDaemon = 3,  // no daemon runs in the directory
};

// The command line's options, for all verbs.
struct Options {
  std::string runtime_dir;            // as FindRuntimeDir returns it
  bool is_runtime_dir_given = false;  // whether the command line has it
  bool json = false;
  // The options of `peek`. The verb `set` also uses `job`.
  std::string job;
  std::string loader;  // empty: the first loader that runs
  std::string output = "batch.png";
  std::size_t count = 64;  // images
  // The options of `set`. An option that is not given changes nothing.
  std::optional<double> weight;
  std::optional<double> max_read;  // bytes a second; 0 for no cap
  std::optional<double> max_cpu;   // CPUs; 0 for no cap
  // The options of `inspect`.
  std::string uri;
  std::string sheet;                     // the PNG file to write, or empty
  std::string fields;                    // separated by commas, or empty
  std::vector<std::string> extra_roots;  // folders that links may lead to
  bool verify = false;
  std::size_t show = 20;  // the most broken samples listed
  // The options of `top`.
  double interval_seconds = 1;
  bool once = false;
};

// These functions run the verbs. Each returns an ExitCode when the verb has
// ended. It prints answers to standard output, and an error, as one sentence,
// to standard error.
int RunCache(const Options& options);
int RunDoctor(const Options& options);
int RunInspect(const Options& options);
int RunJobs(const Options& options);
int RunPeek(const Options& options);
int RunQueues(const Options& options);
int RunSet(const Options& options);
int RunStatus(const Options& options);
int RunTop(const Options& options);
int RunVersion(const Options& options);

// Returns the exit code for a request that failed.
int ExitCodeOf(const absl::Status& status);
// Writes `status` to standard error, and returns the exit code for it.
int Complain(const absl::Status& status);

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_VERB_H_
