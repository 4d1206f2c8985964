#ifndef FOREBAY_SERVER_BASE_LOG_H_
#define FOREBAY_SERVER_BASE_LOG_H_

#include <string_view>

#include "absl/status/status.h"

namespace forebay::base {

// Sets up spdlog's default logger for the process: to stderr, from `level`
// ("debug", "info", "warning" or "error") up. Under systemd each line begins
// with its priority, "<6>", for the journal, which adds the time; elsewhere
// with time and level. To be called once, before threads start.
// INVALID_ARGUMENT: there is no such level.
absl::Status StartLog(std::string_view level);

// Returns whether systemd's journal reads stderr, and so the priority of a
// line.
bool IsJournalListening();

}  // namespace forebay::base

#endif  // FOREBAY_SERVER_BASE_LOG_H_
