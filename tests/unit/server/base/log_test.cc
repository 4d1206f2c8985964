#include "server/base/log.h"

#include <spdlog/spdlog.h>

#include <cstdlib>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::Contains;
using tests::EndsWith;
using tests::HasCode;
using tests::IsOk;
using tests::Not;
using tests::StartsWith;

std::string LogLines() {
  const tests::ChildEnd child = tests::RunInChild([] {
    spdlog::debug("quiet");
    spdlog::info("calm {}", 1);
    spdlog::warn("loud");
    spdlog::error("wrong");
  });
  CHECK(child.status == 0);
  return child.err;
}

TEST_CASE("The log writes from its level up", "[base][log]") {
  unsetenv("JOURNAL_STREAM");
  REQUIRE_THAT(StartLog("warning"), IsOk());
  const std::string lines = LogLines();
  CHECK_THAT(lines, Not(Contains("calm")));
  CHECK_THAT(lines, Contains("warning loud\n"));
  CHECK_THAT(lines, EndsWith("error wrong\n"));
  CHECK_THAT(lines, StartsWith("20"));
}

TEST_CASE("The log tells priorities to the journal", "[base][log]") {
  setenv("JOURNAL_STREAM", "8:1", 1);
  REQUIRE_THAT(StartLog("debug"), IsOk());
  CHECK(LogLines() == "<7>quiet\n<6>calm 1\n<4>loud\n<3>wrong\n");
  unsetenv("JOURNAL_STREAM");
}

TEST_CASE("The log refuses other levels than those it has", "[base][log]") {
  const absl::Status status = StartLog("loud");
  CHECK_THAT(status, HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(status.message(), Contains("\"loud\""));
}

}  // namespace
}  // namespace forebay::base
