#include "server/storage/http/request_ledger.h"

#include <thread>
#include <vector>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

RequestCounts Counts(std::uint64_t requests, std::uint64_t bytes) {
  RequestCounts counts;
  counts.requests = requests;
  counts.bytes = bytes;
  return counts;
}

TEST_CASE("The request ledger keeps jobs and kinds of requests apart",
          "[http][ledger]") {
  RequestLedger ledger;
  ledger.Book(2, RequestKind::kGet, Counts(1, 10));
  ledger.Book(2, RequestKind::kGet, Counts(1, 20));
  ledger.Book(2, RequestKind::kList, Counts(3, 5));
  ledger.Book(1, RequestKind::kOther, {4, 3, 2, 1, 0});
  CHECK(ledger.Of(2).gets.requests == 2u);
  CHECK(ledger.Of(2).gets.bytes == 30u);
  CHECK(ledger.Of(2).lists.requests == 3u);
  CHECK(ledger.Of(2).others.requests == 0u);
  CHECK(ledger.Of(1).others.retries == 3u);
  CHECK(ledger.Of(1).others.hedges == 2u);
  CHECK(ledger.Of(1).others.failures == 1u);
  CHECK(ledger.Of(7).job == 7u);
  CHECK(ledger.Of(7).gets.requests == 0u);
  const std::vector<JobRequests> all = ledger.Snapshot();
  REQUIRE(all.size() == 2u);
  CHECK(all[0].job == 1u);
  CHECK(all[1].job == 2u);
}

TEST_CASE("The request ledger does not lose what a forgotten job asked for",
          "[http][ledger]") {
  RequestLedger ledger;
  ledger.Book(2, RequestKind::kGet, Counts(1, 10));
  ledger.Book(3, RequestKind::kGet, Counts(1, 20));
  ledger.Forget(2);
  ledger.Forget(3);
  ledger.Forget(4);
  CHECK(ledger.Of(2).gets.requests == 0u);
  CHECK(ledger.Of(0).gets.requests == 2u);
  CHECK(ledger.Snapshot().size() == 1u);
}

TEST_CASE("Threads may book in the request ledger at once", "[http][ledger]") {
  RequestLedger ledger;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&ledger] {
      for (int j = 0; j < 1000; ++j)
        ledger.Book(j % 2, RequestKind::kGet, Counts(1, 1));
    });
  for (std::jthread& thread : threads) thread.join();
  CHECK(ledger.Of(0).gets.requests + ledger.Of(1).gets.bytes == 4000u);
}

}  // namespace
}  // namespace forebay::storage::http
