// forebayctl set: changes a job while it runs.

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/forebayctl/caps.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// Returns the changes in words, such as "has weight 2, reads at most 200 MB/s".
std::string Describe(const Options& options) {
  std::vector<std::string> changes;
  if (options.weight.has_value())
    changes.push_back(absl::StrCat("has weight ", *options.weight));
  if (options.max_read.has_value())
    changes.push_back(
        absl::StrCat("reads ", DescribeReadCap(*options.max_read)));
  if (options.max_cpu.has_value())
    changes.push_back(absl::StrCat("takes ", DescribeCpuCap(*options.max_cpu)));
  return absl::StrJoin(changes, ", ");
}

}  // namespace

int RunSet(const Options& options) {
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (!client.ok()) return Complain(client.status());
  proto::SetJobRequest request;
  request.set_job(options.job);
  if (options.weight.has_value()) request.set_weight(*options.weight);
  if (options.max_read.has_value())
    request.set_max_read_bytes_per_second(*options.max_read);
  if (options.max_cpu.has_value()) request.set_max_cpus(*options.max_cpu);
  const absl::Status set = (*client)->SetJob(request);
  if (!set.ok()) return Complain(set);
  if (options.json) {
    std::cout << ToJson(request);
  } else {
    std::cout << Printable(options.job) << " " << Describe(options) << "\n";
  }
  return kOk;
}

}  // namespace forebay::ctl
