// forebayctl queues: shows where each loader's batches are now, and where its
// job's bytes come from.

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/observe.h"
#include "tools/forebayctl/sharing.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// The time over which rates are measured.
constexpr double kSeconds = 0.5;

// Prints a row for each loader: where its batches and reads are now, and at
// what rates the job's reads came from each tier.
void Print(const Observation& observation, std::size_t width) {
  TextTable table({{"JOB"},
                   {"LOADER"},
                   {"SLOTS", true, 2},
                   {"DEPTH", true, 2},
                   {"FREE", true, 1},
                   {"FILLING", true},
                   {"COPYING", true, 4},
                   {"KEPT", true, 1},
                   {"READY", true},
                   {"HELD", true},
                   {"COPIED", true, 5},
                   {"READS", true, 3},
                   {"IN FLIGHT", true, 4},
                   {"WINDOW", true, 5},
                   {"DECODING", true, 3},
                   {"TRAINER"},
                   {"SHARING", false, 1},
                   {"MEMORY MB/S", true, 6},
                   {"SHARED", true, 6},
                   {"SSD", true, 6},
                   {"SOURCE", true, 6},
                   {"NETWORK", true, 6}});
  for (int i = 0; i < observation.list.jobs_size(); ++i) {
    const proto::Job& job = observation.list.jobs(i);
    const JobRates& rates = observation.rates[i];
    bool first = true;  // only the first loader's row has the job's numbers
    for (const proto::Loader& loader : job.loaders()) {
      const proto::LoaderQueues& queues = loader.queues();
      table.AddRow(
          {job.name(),
           loader.name(),
           absl::StrCat(queues.slots()),
           absl::StrCat(queues.depth()),
           absl::StrCat(queues.slots_free()),
           absl::StrCat(queues.slots_filling()),
           absl::StrCat(queues.slots_copying()),
           absl::StrCat(queues.slots_kept()),
           absl::StrCat(queues.slots_ready()),
           absl::StrCat(queues.slots_leased()),
           Count(static_cast<double>(loader.counters().batches_copied())),
           absl::StrCat(queues.reads_in_flight()),
           Bytes(static_cast<double>(queues.bytes_in_flight())),
           Bytes(static_cast<double>(queues.window_bytes())),
           absl::StrCat(queues.samples_to_decode()),
           !loader.running()                     ? "idle"
           : loader.counters().trainer_waiting() ? "waits"
                                                 : "computes",
           Sharing(loader),
           first ? Megabytes(rates.memory_bytes_per_second) : "",
           first ? Megabytes(rates.shared_bytes_per_second) : "",
           first ? Megabytes(rates.disk_bytes_per_second) : "",
           first ? Megabytes(rates.source_bytes_per_second) : "",
           first ? Megabytes(rates.network_bytes_per_second) : ""});
      first = false;
    }
  }
  std::cout << table.Format(width);
}

}  // namespace

int RunQueues(const Options& options) {
  if (options.json) return RunJobs(options);
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (!client.ok()) return Complain(client.status());
  const auto observation = Observe(client->get(), kSeconds);
  if (!observation.ok()) return Complain(observation.status());
  if (observation->list.jobs().empty()) {
    std::cout << "no jobs\n";
  } else {
    Print(*observation, TerminalWidth());
  }
  return kOk;
}

}  // namespace forebay::ctl
