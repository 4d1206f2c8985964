#include "tools/forebayctl/units.h"

#include "tests/catch/catch.h"

namespace forebay::ctl {
namespace {

TEST_CASE("A count of bytes is written in binary units",
          "[forebayctl][units]") {
  CHECK(Bytes(0) == "0 B");
  CHECK(Bytes(1023) == "1023 B");
  CHECK(Bytes(1024) == "1.00 KiB");
  CHECK(Bytes(10.5 * 1024) == "10.5 KiB");
  CHECK(Bytes(1023.7 * 1024) == "1.00 MiB");
  CHECK(Bytes(137.0 * (1 << 20)) == "137 MiB");
  CHECK(Bytes(1.8e19) == "15.6 EiB");
}

TEST_CASE("Megabytes are written as short decimal numbers",
          "[forebayctl][units]") {
  CHECK(Megabytes(0) == "0");
  CHECK(Megabytes(250'000) == "0.25");
  CHECK(Megabytes(12'340'000) == "12.3");
  CHECK(Megabytes(1'234'000'000) == "1234");
}

TEST_CASE("A rate is written in decimal units of bytes a second",
          "[forebayctl][units]") {
  CHECK(Rate(1000) == "1.00 KB/s");
  CHECK(Rate(250'000) == "250 KB/s");
  CHECK(Rate(1'000'000) == "1.00 MB/s");
  CHECK(Rate(1'234'000'000) == "1234 MB/s");
}

TEST_CASE("A count is written with commas between thousands",
          "[forebayctl][units]") {
  CHECK(Count(0) == "0");
  CHECK(Count(9.5) == "9.5");
  CHECK(Count(99) == "99");
  CHECK(Count(999.6) == "1,000");
  CHECK(Count(1234567) == "1,234,567");
}

TEST_CASE("A duration is written in seconds or in its two largest units",
          "[forebayctl][units]") {
  CHECK(Duration(8.23) == "8.2 s");
  CHECK(Duration(303) == "5 min 03 s");
  CHECK(Duration(7500) == "2 h 05 min");
  CHECK(Duration(273600) == "3 d 04 h");
}

TEST_CASE("A share is written in whole percent", "[forebayctl][units]") {
  CHECK(Percent(0) == "0%");
  CHECK(Percent(0.124) == "12%");
  CHECK(Percent(1) == "100%");
}

}  // namespace
}  // namespace forebay::ctl
