// forebayctl status: shows the state of the daemon.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/pending.h"
#include "tools/forebayctl/show.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// Prints a line: a name, padded to 12 characters, and a value.
void AddLine(const std::string& name, const std::string& value) {
  const std::string shown = Printable(name);
  std::cout << shown
            << std::string(14 - std::min<std::size_t>(shown.size(), 13), ' ')
            << Printable(value) << "\n";
}

std::string Describe(const proto::GpuUse& use) {
  const auto bytes = [](std::uint64_t count) {
    return Bytes(static_cast<double>(count));
  };
  std::string text = absl::StrCat(
      bytes(use.slot_bytes()), " of ", bytes(use.slot_limit()),
      " in batches; copied ", Count(static_cast<double>(use.copies())),
      " batches, ", bytes(use.copied_bytes()), ", ", bytes(use.waiting_bytes()),
      " wait");
  if (!use.fault().empty()) absl::StrAppend(&text, "; lost: ", use.fault());
  return text;
}

std::string DescribeGpus(const proto::Gpus& gpus) {
  if (gpus.devices().empty()) return "none";
  std::string text;
  for (const proto::Gpu& gpu : gpus.devices()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", gpu.name(), " (",
                    Bytes(static_cast<double>(gpu.memory_bytes())), ")");
  }
  return text;
}

std::string Describe(const proto::RemoteRequests& requests) {
  const auto count = [](std::uint64_t number) {
    return Count(static_cast<double>(number));
  };
  return absl::StrCat(count(requests.reads()), " reads and ",
                      count(requests.lists()), " lists from buckets and the ",
                      "web, ", Bytes(static_cast<double>(requests.bytes())),
                      ", ", count(requests.retries()), " retried, ",
                      count(requests.hedges()), " made twice");
}

// Returns the queue of a source in words. Each request costs its bytes and a
// constant, so that many small requests do not starve other jobs.
std::string Describe(const proto::Source& source) {
  return absl::StrCat(
      source.in_flight(), " reads in flight of at most ", source.concurrency(),
      ", ", Count(static_cast<double>(source.waiting())),
      " wait; each counts as ",
      Bytes(static_cast<double>(source.request_cost())), " besides its bytes");
}

std::string Describe(const proto::UserWorkers& workers) {
  std::string text = absl::StrCat(
      workers.count(), " with ",
      Bytes(static_cast<double>(workers.memory_used())), " of at most ",
      Bytes(static_cast<double>(workers.memory_limit())), " of their own");
  if (workers.ended() > 0) {
    absl::StrAppend(&text, "; ", Count(static_cast<double>(workers.ended())),
                    " ended because of that");
  }
  return text;
}

void Print(const proto::DaemonStatus& status) {
  AddLine("forebayd", absl::StrCat(status.version(), ", process ", status.pid(),
                                   ", uid ", status.uid(), ", up ",
                                   Duration(status.uptime_seconds())));
  AddLine("sockets", status.runtime_dir());
  AddLine("config",
          status.config_file().empty() ? "defaults" : status.config_file());
  const double limit = static_cast<double>(status.memory_limit());
  const double used = static_cast<double>(status.memory_used());
  AddLine("memory",
          absl::StrCat(Bytes(used), " of ", Bytes(limit), " (",
                       Percent(limit > 0 ? used / limit : 0), "), of it ",
                       Bytes(static_cast<double>(status.memory_slots())),
                       " in batches, ",
                       Bytes(static_cast<double>(status.memory_cache())),
                       " set aside for the cache"));
  AddLine(
      "workers",
      absl::StrCat(status.workers_busy(), " of ", status.workers(), " busy, ",
                   Count(static_cast<double>(status.tasks_queued())),
                   " tasks queued, ", status.simd_target()));
  AddLine("user workers", Describe(status.producers()));
  AddLine("trainers",
          absl::StrCat(status.sessions(), " connected, ", status.jobs(),
                       " jobs, ", status.loaders(), " loaders"));
  for (const proto::Source& source : status.sources())
    AddLine(source.name(), Describe(source));
  if (status.has_remote_requests())
    AddLine("network", Describe(status.remote_requests()));
  AddLine("GPUs", DescribeGpus(status.gpus()));
  for (const proto::Gpu& gpu : status.gpus().devices()) {
    if (gpu.has_use())
      AddLine(absl::StrCat("GPU ", gpu.ordinal()), Describe(gpu.use()));
  }
  for (const proto::PendingRequest& request : status.pending()) {
    if (IsWorthShowing(request))
      AddLine("waiting", absl::StrCat("job ", request.job(), ": ",
                                      DescribePending(request)));
  }
  for (const std::string& warning : status.warnings()) {
    AddLine("warning", warning);
  }
}

}  // namespace

int RunStatus(const Options& options) {
  return Show(options, &AdminClient::GetStatus, &Print);
}

}  // namespace forebay::ctl
