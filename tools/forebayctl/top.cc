// forebayctl top: shows live what each job gets.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/cli.pb.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/observe.h"
#include "tools/forebayctl/pending.h"
#include "tools/forebayctl/rates.h"
#include "tools/forebayctl/terminal.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// Returns the part of the time in which the trainer waits. If no epoch is under
// way, returns what the job does instead.
std::string StateOf(const JobRates& job) {
  if (job.running) return Percent(job.trainer_wait);
  const std::string pending = PendingState(job.pending);
  return pending.empty() ? "idle" : pending;
}

// Returns the table of jobs, and after it the requests that jobs wait for. The
// column of GPUs is shown only if a loader has batches on a GPU.
std::string FormatTable(const std::vector<JobRates>& rates, std::size_t width) {
  const bool on_gpu =
      std::any_of(rates.begin(), rates.end(),
                  [](const JobRates& job) { return job.on_gpu; });
  std::vector<TableColumn> columns = {{"JOB"},
                                      {"IMG/S", true},
                                      {"DECODES/S", true, 3},
                                      {"READ MB/S", true, 1},
                                      {"FROM MEMORY", true, 4},
                                      {"SHARED", true, 4},
                                      {"FROM SSD", true, 4},
                                      {"FROM SOURCE", true, 4},
                                      {"BY NETWORK", true, 4},
                                      {"DELIVERED MB/S", true, 1},
                                      {"CPU", true, 3},
                                      {"READY", true, 2},
                                      {"WAIT", true},
                                      {"SHARING", false, 2}};
  constexpr std::ptrdiff_t kAfterDelivered = 10;
  if (on_gpu)
    columns.insert(columns.begin() + kAfterDelivered,
                   {"TO GPUS MB/S", true, 2});
  TextTable table(std::move(columns));
  for (const JobRates& job : rates) {
    std::vector<std::string> cells = {
        job.name,
        Count(job.images_per_second),
        Count(job.decodes_per_second),
        Megabytes(job.bytes_read_per_second),
        Megabytes(job.memory_bytes_per_second),
        Megabytes(job.shared_bytes_per_second),
        Megabytes(job.disk_bytes_per_second),
        Megabytes(job.source_bytes_per_second),
        Megabytes(job.network_bytes_per_second),
        Megabytes(job.bytes_delivered_per_second),
        absl::StrFormat("%.2f", job.cpu_cores),
        absl::StrCat(job.slots_ready, "/", job.slots),
        StateOf(job),
        job.sharing};
    if (on_gpu)
      cells.insert(cells.begin() + kAfterDelivered,
                   job.on_gpu ? Megabytes(job.gpu_bytes_per_second) : "-");
    table.AddRow(std::move(cells));
  }
  if (rates.empty()) return "no jobs\n";
  std::string text = table.Format(width);
  PendingRequests pending;
  for (const JobRates& job : rates) pending.MergeFrom(job.pending);
  return text + PendingLines(pending);
}

// Returns the line above the table: the daemon, its memory and its threads.
std::string FormatHead(const proto::DaemonStatus& status) {
  return absl::StrCat("forebayd ", Printable(status.version()), ", up ",
                      Duration(status.uptime_seconds()), "   memory ",
                      Bytes(static_cast<double>(status.memory_used())), " of ",
                      Bytes(static_cast<double>(status.memory_limit())),
                      "   workers ", status.workers_busy(), " of ",
                      status.workers(), " busy\n");
}

// Prints a message JobRatesList of cli.proto.
void PrintJson(const std::vector<JobRates>& rates) {
  proto::JobRatesList answer;
  for (const JobRates& job : rates) {
    proto::JobRates& entry = *answer.add_jobs();
    entry.set_name(job.name);
    entry.set_running(job.running);
    entry.set_images_per_second(job.images_per_second);
    entry.set_decodes_per_second(job.decodes_per_second);
    entry.set_bytes_read_per_second(job.bytes_read_per_second);
    entry.set_memory_bytes_per_second(job.memory_bytes_per_second);
    entry.set_shared_bytes_per_second(job.shared_bytes_per_second);
    entry.set_disk_bytes_per_second(job.disk_bytes_per_second);
    entry.set_source_bytes_per_second(job.source_bytes_per_second);
    entry.set_network_bytes_per_second(job.network_bytes_per_second);
    entry.set_bytes_delivered_per_second(job.bytes_delivered_per_second);
    entry.set_gpu_bytes_per_second(job.gpu_bytes_per_second);
    entry.set_cpu_cores(job.cpu_cores);
    entry.set_slots_ready(job.slots_ready);
    entry.set_slots(job.slots);
    entry.set_sharing(job.sharing);
    entry.set_trainer_wait(job.trainer_wait);
    *entry.mutable_pending() = job.pending;
  }
  std::cout << ToJson(answer);
}

// Watches the jobs for one interval, prints their rates, and returns.
int RunOnce(const Options& options, AdminClient* client) {
  const auto seen = Observe(client, options.interval_seconds);
  if (!seen.ok()) return Complain(seen.status());
  if (options.json) {
    PrintJson(seen->rates);
  } else {
    std::cout << FormatTable(seen->rates, TerminalWidth());
  }
  return kOk;
}

// The live display of a daemon. While the daemon is gone, as during a restart,
// the display says so and tries to connect again.
class Live {
 public:
  Live(std::string runtime_dir, std::unique_ptr<AdminClient> client)
      : runtime_dir_(std::move(runtime_dir)), client_(std::move(client)) {}

  // Takes a sample. Blocks as AdminClient does. If the daemon is gone, the
  // display says so. Other errors are returned.
  absl::Status Sample() {
    if (client_ == nullptr) {
      auto connected = AdminClient::Connect(runtime_dir_);
      if (!connected.ok()) return Lose(connected.status());
      client_ = *std::move(connected);
    }
    const auto status = client_->GetStatus();
    if (!status.ok()) return Lose(status.status());
    auto jobs = client_->ListJobs();
    if (!jobs.ok()) return Lose(jobs.status());
    rates_ = RatesBetween(before_.value_or(*jobs), *jobs);
    head_ = FormatHead(*status);
    before_ = *std::move(jobs);
    return absl::OkStatus();
  }

  // Returns the text of the whole display.
  std::string Text() const {
    return head_ + "\n" +
           (client_ == nullptr ? "" : FormatTable(rates_, TerminalWidth())) +
           "\nq: quit\n";
  }

 private:
  // Shows why the daemon is gone, and forgets the last sample, because the next
  // daemon counts from zero. Returns errors that a new connection would not
  // cure.
  absl::Status Lose(const absl::Status& status) {
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status))
      return status;
    client_ = nullptr;
    before_ = std::nullopt;
    head_ = absl::StrCat(Printable(std::string(status.message())),
                         ": trying again\n");
    return absl::OkStatus();
  }

  const std::string runtime_dir_;
  std::unique_ptr<AdminClient> client_;  // null while the daemon is away
  std::optional<proto::JobList> before_;
  std::string head_;
  std::vector<JobRates> rates_;
};

// Takes samples and redraws the display until the user quits, and then returns
// OK.
absl::Status Watch(const Options& options, Live* live, Terminal* terminal) {
  using Clock = std::chrono::steady_clock;
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options.interval_seconds));
  auto next = Clock::now();
  while (true) {
    if (Clock::now() >= next) {
      next = Clock::now() + interval;
      absl::Status sampled = live->Sample();
      if (!sampled.ok()) return sampled;
    }
    terminal->Draw(live->Text());
    const std::chrono::duration<double> left = next - Clock::now();
    if (terminal->Wait(std::max(0.0, left.count())) == Terminal::Event::kQuit) {
      return absl::OkStatus();
    }
  }
}

}  // namespace

int RunTop(const Options& options) {
  const bool is_live =
      !options.once && !options.json && isatty(STDOUT_FILENO) != 0;
  absl::Status result;
  {
    // The terminal is set up before gRPC starts its threads, so that signals
    // come to this thread alone.
    std::optional<Terminal> terminal;
    if (is_live) terminal.emplace();
    auto client = AdminClient::Connect(options.runtime_dir);
    if (client.ok() && !is_live) return RunOnce(options, client->get());
    result = client.status();
    if (client.ok()) {
      Live live(options.runtime_dir, *std::move(client));
      result = Watch(options, &live, &*terminal);
    }
  }
  return result.ok() ? static_cast<int>(kOk) : Complain(result);
}

}  // namespace forebay::ctl
