// forebayctl version: its own, and the daemon's if there is one.

#include "proto/version.h"

#include <google/protobuf/struct.pb.h>

#include <iostream>

#include "proto/shm_layout.h"
#include "tools/forebayctl/json.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {

int RunVersion(const Options& options) {
  proto::DaemonStatus daemon;
  const auto client = AdminClient::Connect(options.runtime_dir);
  if (client.ok()) {
    const auto status = (*client)->GetStatus();
    if (status.ok()) daemon = *status;
  }
  if (options.json) {
    google::protobuf::Struct versions;
    auto& fields = *versions.mutable_fields();
    fields["forebayctl"].set_string_value(proto::kVersion);
    fields["protocol"].set_number_value(proto::kProtocolVersion);
    fields["forebayd"].set_string_value(daemon.version());
    fields["forebayd_protocol"].set_number_value(daemon.protocol_version());
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
