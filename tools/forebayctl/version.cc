// forebayctl version: shows the versions of forebayctl and of the daemon, if
// one runs.

#include "proto/version.h"

#include <iostream>

#include "proto/cli.pb.h"
#include "proto/shm_layout.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {

// Without a daemon, the verb leaves out the daemon's versions and succeeds.
int RunVersion(const Options& options) {
  proto::DaemonStatus daemon;
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (client.ok()) {
    const auto status = (*client)->GetStatus();
    if (status.ok()) daemon = *status;
  }
  if (options.json) {
    proto::Versions versions;
    versions.set_forebayctl(proto::kVersion);
    versions.set_protocol(proto::kProtocolVersion);
    versions.set_forebayd(daemon.version());
    versions.set_forebayd_protocol(daemon.protocol_version());
    std::cout << ToJson(versions);
    return kOk;
  }
  std::cout << "forebayctl " << proto::kVersion << ", protocol "
            << proto::kProtocolVersion << "\n";
  if (daemon.version().empty()) {
    std::cout << "forebayd is not running in " << options.runtime_dir << "\n";
  } else {
    std::cout << "forebayd " << Printable(daemon.version()) << ", protocol "
              << daemon.protocol_version() << "\n";
  }
  return kOk;
}

}  // namespace forebay::ctl
