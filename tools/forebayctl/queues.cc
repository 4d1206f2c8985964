// forebayctl queues: where each loader's batches are, now, and from where its
// job's bytes come.

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/rates.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

constexpr std::chrono::milliseconds kMeasured(500);

void Print(const proto::JobList& list, const std::vector<JobRates>& rates,
           std::size_t width) {
  TextTable table({{"JOB"},
                   {"LOADER"},
                   {"SLOTS", true, 2},
                   {"FREE", true, 1},
                   {"FILLING", true},
                   {"READY", true},
                   {"HELD", true},
                   {"COPIED", true, 5},
                   {"READS", true, 3},
                   {"IN FLIGHT", true, 4},
                   {"DECODING", true, 3},
                   {"TRAINER"},
                   {"MEMORY MB/S", true, 6},
                   {"SHARED", true, 6},
                   {"SOURCE", true, 6}});
  for (int i = 0; i < list.jobs_size(); ++i) {
    const proto::Job& job = list.jobs(i);
    bool first = true;  // its row has what is the job's as a whole
    for (const proto::Loader& loader : job.loaders()) {
      const proto::LoaderQueues& queues = loader.queues();
      table.AddRow(
          {job.name(), loader.name(), absl::StrCat(queues.slots()),
           absl::StrCat(queues.slots_free()),
           absl::StrCat(queues.slots_filling()),
           absl::StrCat(queues.slots_ready()),
           absl::StrCat(queues.slots_leased()),
           Count(static_cast<double>(loader.counters().batches_copied())),
           absl::StrCat(queues.reads_in_flight()),
           Bytes(static_cast<double>(queues.bytes_in_flight())),
           absl::StrCat(queues.samples_to_decode()),
           !loader.running()                     ? "idle"
           : loader.counters().trainer_waiting() ? "waits"
                                                 : "computes",
           first ? Megabytes(rates[i].memory_bytes_per_second) : "",
           first ? Megabytes(rates[i].shared_bytes_per_second) : "",
           first ? Megabytes(rates[i].source_bytes_per_second) : ""});
      first = false;
    }
  }
  std::cout << table.Format(width);
}

}  // namespace

int RunQueues(const Options& options) {
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (!client.ok()) return Complain(client.status());
  const auto list = (*client)->ListJobs();
  if (!list.ok()) return Complain(list.status());
  if (options.json) {
    std::cout << ToJson(*list);
  } else if (list->jobs().empty()) {
    std::cout << "no jobs\n";
  } else {
    std::this_thread::sleep_for(kMeasured);
    const auto later = (*client)->ListJobs();
    if (!later.ok()) return Complain(later.status());
    Print(*later, RatesBetween(*list, *later), TerminalWidth());
  }
  return kOk;
}

}  // namespace forebay::ctl
