#ifndef FOREBAY_TOOLS_FOREBAYCTL_SHOW_H_
#define FOREBAY_TOOLS_FOREBAYCTL_SHOW_H_

#include <iostream>

#include "tools/forebayctl/admin_client.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {

// Runs a verb that shows one answer of the daemon. `ask` is the method of
// AdminClient that gets the answer; `print` shows it unless the user wants
// JSON. Returns an ExitCode. Blocks as AdminClient does.
template <typename Answer>
int Show(const Options& options, absl::StatusOr<Answer> (AdminClient::*ask)(),
         void (*print)(const Answer&)) {
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (!client.ok()) return Complain(client.status());
  const absl::StatusOr<Answer> answer = (client->get()->*ask)();
  if (!answer.ok()) return Complain(answer.status());
  if (options.json) {
    std::cout << ToJson(*answer);
  } else {
    print(*answer);
  }
  return kOk;
}

}  // namespace forebay::ctl

#endif  // FOREBAY_TOOLS_FOREBAYCTL_SHOW_H_
