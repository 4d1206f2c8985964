#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/host_checks.h"
#include "tools/forebayctl/units.h"

namespace forebay::ctl {
namespace {

using Level = Finding::Level;

// Returns a GPU's name, memory and other properties as text with a full stop.
std::string Describe(const proto::Gpu& gpu) {
  std::string text = absl::StrCat(
      gpu.name(), ", ", Bytes(static_cast<double>(gpu.memory_bytes())),
      ", compute capability ", gpu.compute_major(), ".", gpu.compute_minor(),
      ", PCI ", gpu.pci_address());
  if (gpu.numa_node() >= 0) {
    absl::StrAppend(&text, ", NUMA node ", gpu.numa_node());
  }
  return absl::StrCat(text, ", ", gpu.uuid(), ".");
}

}  // namespace

std::vector<Finding> CheckGpus(const proto::DaemonStatus& status) {
  if (!status.has_gpus()) return {};
  const proto::Gpus& gpus = status.gpus();
  if (gpus.devices().empty()) {
    return {{Level::kNote, "GPU",
             absl::StrCat("The daemon sees no GPU: ", gpus.absence(), ".")}};
  }
  std::vector<Finding> findings = {
      {Level::kOk, "GPU driver",
       absl::StrCat("The driver", gpus.driver_version().empty() ? "" : " ",
                    gpus.driver_version(), " serves CUDA ", gpus.cuda_version(),
                    ".")}};
  for (const proto::Gpu& gpu : gpus.devices()) {
    findings.push_back(
        {Level::kOk, absl::StrCat("GPU ", gpu.ordinal()), Describe(gpu)});
    for (const std::string& note : gpu.notes()) {
      findings.push_back(
          {Level::kNote, absl::StrCat("GPU ", gpu.ordinal()), note});
    }
    if (!gpu.use().fault().empty()) {
      findings.push_back(
          {Level::kProblem, absl::StrCat("GPU ", gpu.ordinal()),
           absl::StrCat("It is lost to the daemon: ", gpu.use().fault(),
                        ". Loaders with batches on GPUs are refused until the "
                        "daemon is restarted.")});
    }
  }
  return findings;
}

}  // namespace forebay::ctl
