#include "server/stream/batch_charges.h"

#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

TEST_CASE("A read that its own job pays for has no list of payers",
          "[stream][batch_charges]") {
  ReadPayers payers;
  storage::ReadRequest request;
  request.purpose.job = 1;
  payers.Charge({1}, &request);
  CHECK(request.purpose.payers == nullptr);
}

TEST_CASE("Consecutive reads of the same payers share their list",
          "[stream][batch_charges]") {
  ReadPayers payers;
  storage::ReadRequest requests[3];
  payers.Charge({1, 2}, &requests[0]);
  payers.Charge({1, 2}, &requests[1]);
  payers.Charge({3}, &requests[2]);
  REQUIRE(requests[0].purpose.payers != nullptr);
  CHECK(requests[0].purpose.payers == requests[1].purpose.payers);
  REQUIRE(requests[2].purpose.payers != nullptr);
  CHECK(*requests[2].purpose.payers == std::vector<std::uint64_t>{3});
}

}  // namespace
}  // namespace forebay::stream
