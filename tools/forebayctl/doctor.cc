// forebayctl doctor: says what is wrong, in plain sentences.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/cli.pb.h"
#include "tools/forebayctl/host_checks.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

const char* LevelName(Finding::Level level) {
  switch (level) {
    case Finding::Level::kOk:
      return "ok";
    case Finding::Level::kNote:
      return "note";
    case Finding::Level::kProblem:
      return "PROBLEM";
  }
  return "";
}

// Adds findings on the daemon: whether it answers, and its state. Returns an
// error if the daemon does not answer.
absl::Status ExamineDaemon(const std::string& runtime_dir,
                           std::vector<Finding>* findings) {
  const auto client = AdminClient::Connect(runtime_dir);
  if (!client.ok()) return client.status();
  const auto status = (*client)->GetStatus();
  if (!status.ok()) return status.status();
  findings->push_back({Finding::Level::kOk, "daemon",
                       absl::StrCat("forebayd answers in ", runtime_dir, ".")});
  for (const auto& more :
       {CheckDaemon(*status), CheckStorage(*status), CheckGpus(*status)}) {
    findings->insert(findings->end(), more.begin(), more.end());
  }
  return absl::OkStatus();
}

// Prints the findings as a message Diagnosis of cli.proto.
void PrintJson(const std::vector<Finding>& findings, bool healthy) {
  proto::Diagnosis answer;
  answer.set_healthy(healthy);
  for (const Finding& finding : findings) {
    proto::Finding& entry = *answer.add_findings();
    entry.set_level(finding.level == Finding::Level::kProblem
                        ? "problem"
                        : LevelName(finding.level));
    entry.set_subject(finding.subject);
    entry.set_sentence(finding.sentence);
  }
  std::cout << ToJson(answer);
}

}  // namespace

// The kernel is checked even if no daemon answers: a missing feature may be the
// reason why none runs. The exit code then says that there is no daemon.
int RunDoctor(const Options& options) {
  std::vector<Finding> findings;
  const absl::Status reached = ExamineDaemon(options.runtime_dir, &findings);
  if (!reached.ok()) {
    std::string sentence(reached.message());
    findings.push_back(
        {Finding::Level::kProblem, "daemon", absl::StrCat(sentence, ".")});
  }
  const std::vector<Finding> kernel = CheckKernel();
  findings.insert(findings.end(), kernel.begin(), kernel.end());
  const bool healthy = std::none_of(
      findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.level == Finding::Level::kProblem;
      });
  if (options.json) {
    PrintJson(findings, healthy);
  } else {
    for (const Finding& finding : findings) {
      const std::string level = LevelName(finding.level);
      std::cout << level << std::string(9 - level.size(), ' ')
                << finding.subject
                << std::string(
                       15 - std::min<std::size_t>(14, finding.subject.size()),
                       ' ')
                << Printable(finding.sentence) << "\n";
    }
  }
  if (!reached.ok()) return ExitCodeOf(reached);
  return healthy ? kOk : kFailed;
}

}  // namespace forebay::ctl
