#ifndef FOREBAY_SERVER_BASE_LOG_H_
#define FOREBAY_SERVER_BASE_LOG_H_

#include <string_view>

#include "absl/status/status.h"

namespace forebay::base {

// Sets up spdlog's default logger for the process. It writes to stderr the
// messages of `level` ("debug", "info", "warning" or "error") and above. Under
// systemd a line begins with its priority, such as "<6>" (sd-daemon(3)), and
// the journal adds the time. Elsewhere a line begins with time and level.
//
// Call it once, before threads start. Never blocks. INVALID_ARGUMENT: there is
// no such level.
absl::Status StartLog(std::string_view level);

// Returns whether systemd's journal reads stderr. The journal then also reads
// the priority at the beginning of each line.
bool IsJournalListening();

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_LOG_H_
