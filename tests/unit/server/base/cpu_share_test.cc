#include "server/base/cpu_share.h"

#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using Catch::WithinULP;
using tests::Contains;

TEST_CASE("The CPU share parser reads CPUs and percentages",
          "[base][cpu_share]") {
  CHECK_THAT(*ParseCpuShare("6", 8), WithinULP(6.0, 4));
  CHECK_THAT(*ParseCpuShare("1.5", 8), WithinULP(1.5, 4));
  CHECK_THAT(*ParseCpuShare("0.25", 8), WithinULP(0.25, 4));
  CHECK_THAT(*ParseCpuShare("75%", 8), WithinULP(6.0, 4));
  CHECK_THAT(*ParseCpuShare("12.5%", 8), WithinULP(1.0, 4));
  CHECK_THAT(*ParseCpuShare("100%", 8), WithinULP(8.0, 4));
  CHECK_THAT(*ParseCpuShare("1024", 8), WithinULP(1024.0, 4));
}

TEST_CASE("The CPU share parser refuses all else than CPUs and percentages",
          "[base][cpu_share]") {
  for (const std::string text : {"",     "%",
                                 "all",  "-1",
                                 "+1",   " 1",
                                 "1 ",   "1 %",
                                 "1%%",  "1e3",
                                 "0x4",  "inf",
                                 "nan",  "infinity",
                                 "0",    "0%",
                                 "0.0",  "101%",
                                 "1025", ".5",
                                 "1,5",  "99999999999999999999999999"}) {
    const auto share = ParseCpuShare(text, 8);
    CAPTURE(text);
    REQUIRE_FALSE(share.ok());
    CHECK_THAT(share.status().message(), Contains("\"" + text + "\""));
  }
}

}  // namespace
}  // namespace forebay::base
