#include <iostream>

#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {

int Complain(const absl::Status& status) {
  std::cerr << "forebayctl: " << Printable(std::string(status.message()))
            << std::endl;
  return absl::IsUnavailable(status) &&
                 status.message().find("no forebay daemon") !=
                     absl::string_view::npos
             ? kNoDaemon
             : kFailed;
}

}  // namespace forebay::ctl
