#include "tools/forebayctl/caps.h"

#include <string>

#include "tests/catch/catch.h"

namespace forebay::ctl {
namespace {

using Catch::WithinULP;

TEST_CASE("The parser of read caps reads rates", "[forebayctl][caps]") {
  CHECK_THAT(*ParseReadCap("200MB/s"), WithinULP(200e6, 4));
  CHECK_THAT(*ParseReadCap("1.5GiB/s"), WithinULP(1.5 * (1 << 30), 4));
  CHECK_THAT(*ParseReadCap("1KB/s"), WithinULP(1000.0, 4));
  CHECK_THAT(*ParseReadCap("4096B/s"), WithinULP(4096.0, 4));
  CHECK_THAT(*ParseReadCap("none"), WithinULP(0.0, 4));
}

TEST_CASE("The parser of read caps refuses all other rates",
          "[forebayctl][caps]") {
  for (const std::string text :
       {"", "200", "200MB", "MB/s", "-1MB/s", "+1MB/s", "200 MB/s", "200mb/s",
        "1e3MB/s", "infMB/s", "nan", "None", "200MB/s "}) {
    const auto cap = ParseReadCap(text);
    CAPTURE(text);
    REQUIRE_FALSE(cap.ok());
    CHECK(std::string(cap.status().message())
              .find("\"" + text + "\" is not a rate: write a number and B/s") ==
          0);
  }
  CHECK(ParseReadCap("999B/s").status().message() ==
        "\"999B/s\" is less than 1KB/s");
  CHECK_FALSE(ParseReadCap("0MB/s").ok());
}

TEST_CASE("The parser of CPU caps reads counts of CPUs", "[forebayctl][caps]") {
  CHECK_THAT(*ParseCpuCap("2"), WithinULP(2.0, 4));
  CHECK_THAT(*ParseCpuCap("0.5"), WithinULP(0.5, 4));
  CHECK_THAT(*ParseCpuCap("none"), WithinULP(0.0, 4));
  for (const std::string text :
       {"", "two", "50%", "-1", "1e1", "2 ", "inf", "0", "0.001", "1025"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseCpuCap(text).ok());
  }
}

TEST_CASE("Caps on reads and CPUs are said in words", "[forebayctl][caps]") {
  CHECK(DescribeReadCap(200e6) == "at most 200 MB/s");
  CHECK(DescribeReadCap(1000) == "at most 1.00 KB/s");
  CHECK(DescribeReadCap(0) == "as much as it can");
  CHECK(DescribeCpuCap(1) == "at most 1 CPU");
  CHECK(DescribeCpuCap(0.5) == "at most 0.5 CPUs");
  CHECK(DescribeCpuCap(0) == "as many CPUs as it can");
}

}  // namespace
}  // namespace forebay::ctl
