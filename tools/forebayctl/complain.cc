#include <iostream>

#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {

int ExitCodeOf(const absl::Status& status) {
  return IsNoDaemon(status) ? kNoDaemon : kFailed;
}

int Complain(const absl::Status& status) {
  std::cerr << "forebayctl: " << Printable(std::string(status.message()))
            << std::endl;
  return ExitCodeOf(status);
}

}  // namespace forebay::ctl
