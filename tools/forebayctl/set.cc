// forebayctl set: changes a job while it runs.

#include <iostream>

#include "tools/forebayctl/json.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {

int RunSet(const Options& options) {
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (!client.ok()) return Complain(client.status());
  proto::SetJobRequest request;
  request.set_job(options.job);
  request.set_weight(options.weight);
  const absl::Status set = (*client)->SetJob(request);
  if (!set.ok()) return Complain(set);
  if (options.json) {
    std::cout << ToJson(request);
  } else {
    std::cout << Printable(options.job) << " has weight " << options.weight
              << "\n";
  }
  return kOk;
}

}  // namespace forebay::ctl
