// forebayctl jobs: lists every job and its loaders, with totals since they were
// opened.

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/forebayctl/pending.h"
#include "tools/forebayctl/sharing.h"
#include "tools/forebayctl/show.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// Returns the part of the epoch that was delivered.
std::string Progress(const proto::Loader& loader) {
  if (!loader.running()) return "idle";
  const double total = static_cast<double>(loader.samples_per_epoch());
  return Percent(total > 0 ? static_cast<double>(loader.position()) / total
                           : 0);
}

// Returns the name of the memory where a loader's batches lie: a GPU's or the
// host's.
std::string Place(const proto::Loader& loader) {
  if (loader.has_gpu()) return absl::StrCat("GPU ", loader.gpu());
  return loader.gpu_refusal().empty()
             ? "host"
             : absl::StrCat("host: ", loader.gpu_refusal());
}

std::string Size(const proto::ReadTally& tally) {
  return Bytes(static_cast<double>(tally.bytes()));
}

// Returns a job's caps; "-" if it has none.
std::string Caps(const proto::Job& job) {
  std::vector<std::string> caps;
  if (const double read = job.max_read_bytes_per_second(); read != 0)
    caps.push_back(Rate(read));
  if (job.max_cpus() != 0)
    caps.push_back(absl::StrFormat("%g CPU", job.max_cpus()));
  return caps.empty() ? "-" : absl::StrJoin(caps, ", ");
}

// Prints a row for each loader, and one for a job without loaders. The numbers
// of a whole job are only in the row of its first loader, so that a column's
// sum counts each job once.
void Print(const proto::JobList& list) {
  if (list.jobs().empty()) {
    std::cout << "no jobs\n";
    return;
  }
  TextTable table({{"JOB"},
                   {"WEIGHT", true, 4},
                   {"CAPS", false, 5},
                   {"LOADER"},
                   {"DATASET", false, 1},
                   {"PLACE", false, 4},
                   {"SAMPLES", true, 5},
                   {"BATCH", true, 6},
                   {"EPOCH", true},
                   {"DONE", true},
                   {"IMAGES", true},
                   {"DECODED", true, 3},
                   {"SHARING", false, 1},
                   {"DELIVERED", true, 2},
                   {"READ", true, 2},
                   {"FROM MEMORY", true, 9},
                   {"SHARED", true, 9},
                   {"FROM SSD", true, 9},
                   {"FROM SOURCE", true, 9},
                   {"SUBSTITUTED", true, 7},
                   {"PROCESSES", false, 8}});
  for (const proto::Job& job : list.jobs()) {
    const std::string weight = absl::StrFormat("%g", job.weight());
    const std::string caps = Caps(job);
    const std::string pids = absl::StrJoin(job.pids(), " ");
    if (job.loaders().empty()) {
      table.AddRow({job.name(),
                    weight,
                    caps,
                    "-",
                    "",
                    "",
                    "",
                    "",
                    "",
                    PendingState(job.pending()),
                    "",
                    "",
                    "",
                    "",
                    "",
                    Size(job.traffic().memory()),
                    Size(job.traffic().shared()),
                    Size(job.traffic().disk()),
                    Size(job.traffic().source()),
                    "",
                    pids});
    }
    bool first = true;
    for (const proto::Loader& loader : job.loaders()) {
      const proto::LoaderCounters& counters = loader.counters();
      table.AddRow({first ? job.name() : "",
                    first ? weight : "",
                    first ? caps : "",
                    loader.name(),
                    loader.uri(),
                    Place(loader),
                    Count(static_cast<double>(loader.dataset_size())),
                    absl::StrCat(loader.batch_size()),
                    absl::StrCat(loader.epoch()),
                    Progress(loader),
                    Count(static_cast<double>(counters.samples_delivered())),
                    Count(static_cast<double>(counters.samples_decoded())),
                    Sharing(loader),
                    Bytes(static_cast<double>(counters.bytes_delivered())),
                    Bytes(static_cast<double>(counters.bytes_read())),
                    first ? Size(job.traffic().memory()) : "",
                    first ? Size(job.traffic().shared()) : "",
                    first ? Size(job.traffic().disk()) : "",
                    first ? Size(job.traffic().source()) : "",
                    Count(static_cast<double>(counters.samples_substituted())),
                    first ? pids : ""});
      first = false;
    }
  }
  std::cout << table.Format(TerminalWidth());
  PendingRequests pending;
  for (const proto::Job& job : list.jobs()) pending.MergeFrom(job.pending());
  std::cout << PendingLines(pending);
}

}  // namespace

int RunJobs(const Options& options) {
  return Show(options, &AdminClient::ListJobs, &Print);
}

}  // namespace forebay::ctl
