#include "server/base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::base {
namespace {

// Returns spdlog's level for a configured name; nullopt if there is none.
std::optional<spdlog::level::level_enum> LevelOf(std::string_view name) {
  if (name == "debug") return spdlog::level::debug;
  if (name == "info") return spdlog::level::info;
  if (name == "warning") return spdlog::level::warn;
  if (name == "error") return spdlog::level::err;
  return std::nullopt;
}

// Writes a line's priority as "<N>", where N is a level of syslog(3), as
// sd-daemon(3) wants it: 7 is debug, 6 info, 4 warning, 3 error, 2 critical.
class PriorityFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    char priority = '6';
    if (message.level <= spdlog::level::debug) priority = '7';
    if (message.level == spdlog::level::warn) priority = '4';
    if (message.level == spdlog::level::err) priority = '3';
    if (message.level == spdlog::level::critical) priority = '2';
    out.push_back('<');
    out.push_back(priority);
    out.push_back('>');
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PriorityFlag>();
  }
};

}  // namespace

// systemd sets JOURNAL_STREAM for services whose stderr it connects to the
// journal (systemd.exec(5)).
bool IsJournalListening() { return std::getenv("JOURNAL_STREAM") != nullptr; }

absl::Status StartLog(std::string_view level) {
  const std::optional<spdlog::level::level_enum> wanted = LevelOf(level);
  if (!wanted)
    return absl::InvalidArgumentError(
        absl::StrCat("there is no log level \"", std::string(level),
                     "\": use debug, info, warning or error"));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PriorityFlag>('*').set_pattern(
      IsJournalListening() ? "%*%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  auto logger = std::make_shared<spdlog::logger>(
      "forebay", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(*wanted);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

}  // namespace forebay::base
