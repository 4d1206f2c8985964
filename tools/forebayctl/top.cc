// forebayctl top: what each job gets, live.

#include <google/protobuf/struct.pb.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

// How much of the time the trainer waits; why there is no epoch, if none is
// under way.
std::string StateOf(const JobRates& job) {
  if (job.running) return Percent(job.trainer_wait);
  const std::string pending = PendingState(job.pending);
  return pending.empty() ? "idle" : pending;
}

std::string FormatTable(const std::vector<JobRates>& rates, std::size_t width) {
  const bool on_gpu =
      std::any_of(rates.begin(), rates.end(),
                  [](const JobRates& job) { return job.on_gpu; });
  std::vector<Column> columns = {{"JOB"},
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

std::string FormatHead(const proto::DaemonStatus& status) {
  return absl::StrCat("forebayd ", Printable(status.version()), ", up ",
                      Duration(status.uptime_seconds()), "   memory ",
                      Bytes(static_cast<double>(status.memory_used())), " of ",
                      Bytes(static_cast<double>(status.memory_limit())),
                      "   workers ", status.workers_busy(), " of ",
                      status.workers(), " busy\n");
}

void PrintJson(const std::vector<JobRates>& rates) {
  google::protobuf::Struct answer;
  auto& jobs = *(*answer.mutable_fields())["jobs"].mutable_list_value();
  for (const JobRates& job : rates) {
    auto& fields = *jobs.add_values()->mutable_struct_value()->mutable_fields();
    fields["name"].set_string_value(job.name);
    fields["running"].set_bool_value(job.running);
    fields["images_per_second"].set_number_value(job.images_per_second);
    fields["decodes_per_second"].set_number_value(job.decodes_per_second);
    fields["bytes_read_per_second"].set_number_value(job.bytes_read_per_second);
    fields["memory_bytes_per_second"].set_number_value(
        job.memory_bytes_per_second);
    fields["shared_bytes_per_second"].set_number_value(
        job.shared_bytes_per_second);
    fields["disk_bytes_per_second"].set_number_value(job.disk_bytes_per_second);
    fields["source_bytes_per_second"].set_number_value(
        job.source_bytes_per_second);
    fields["network_bytes_per_second"].set_number_value(
        job.network_bytes_per_second);
    fields["bytes_delivered_per_second"].set_number_value(
        job.bytes_delivered_per_second);
    fields["gpu_bytes_per_second"].set_number_value(job.gpu_bytes_per_second);
    fields["cpu_cores"].set_number_value(job.cpu_cores);
    fields["slots_ready"].set_number_value(job.slots_ready);
    fields["slots"].set_number_value(job.slots);
    fields["sharing"].set_string_value(job.sharing);
    fields["trainer_wait"].set_number_value(job.trainer_wait);
    auto& pending = *fields["pending"].mutable_list_value();
    for (const proto::PendingRequest& request : job.pending) {
      auto& entry =
          *pending.add_values()->mutable_struct_value()->mutable_fields();
      entry["kind"].set_string_value(
          proto::PendingRequest::Kind_Name(request.kind()));
      entry["uri"].set_string_value(request.uri());
      entry["host"].set_string_value(request.host());
      entry["seconds"].set_number_value(request.seconds());
    }
  }
  std::cout << ToJson(answer);
}

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

// Redraws until the user quits (OK) or the daemon is gone.
absl::Status Watch(const Options& options, AdminClient* client,
                   Terminal* terminal) {
  absl::StatusOr<proto::JobList> before = client->ListJobs();
  if (!before.ok()) return before.status();
  std::string head;
  std::vector<JobRates> rates = RatesBetween(*before, *before);
  using Clock = std::chrono::steady_clock;
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options.interval_seconds));
  auto next = Clock::now();
  while (true) {
    if (Clock::now() >= next) {
      next = Clock::now() + interval;
      const auto status = client->GetStatus();
      if (!status.ok()) return status.status();
      auto after = client->ListJobs();
      if (!after.ok()) return after.status();
      head = FormatHead(*status);
      rates = RatesBetween(*before, *after);
      before = std::move(after);
    }
    terminal->Draw(head + "\n" + FormatTable(rates, TerminalWidth()) +
                   "\nq: quit\n");
    const std::chrono::duration<double> left = next - Clock::now();
    if (terminal->Wait(std::max(0.0, left.count())) == Terminal::Event::kQuit) {
      return absl::OkStatus();
    }
  }
}

}  // namespace

int RunTop(const Options& options) {
  const bool live =
      !options.once && !options.json && isatty(STDOUT_FILENO) != 0;
  absl::Status result;
  {
    // Before gRPC starts its threads, so that signals come here alone.
    std::optional<Terminal> terminal;
    if (live) terminal.emplace();
    const auto client = AdminClient::Connect(options.runtime_dir);
    if (client.ok() && !live) return RunOnce(options, client->get());
    result = client.ok() ? Watch(options, client->get(), &*terminal)
                         : client.status();
  }
  return result.ok() ? static_cast<int>(kOk) : Complain(result);
}

}  // namespace forebay::ctl
