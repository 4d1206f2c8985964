#include "server/storage/http/ledger.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace forebay::storage::http {
namespace {

RequestCounts Counts(std::uint64_t requests, std::uint64_t bytes) {
  RequestCounts counts;
  counts.requests = requests;
  counts.bytes = bytes;
  return counts;
}

TEST(LedgerTest, KeepsJobsAndKindsApart) {
  Ledger ledger;
  ledger.Book(2, RequestKind::kGet, Counts(1, 10));
  ledger.Book(2, RequestKind::kGet, Counts(1, 20));
  ledger.Book(2, RequestKind::kList, Counts(3, 5));
  ledger.Book(1, RequestKind::kOther, {4, 3, 2, 1, 0});
  EXPECT_EQ(ledger.Of(2).gets.requests, 2u);
  EXPECT_EQ(ledger.Of(2).gets.bytes, 30u);
  EXPECT_EQ(ledger.Of(2).lists.requests, 3u);
  EXPECT_EQ(ledger.Of(2).others.requests, 0u);
  EXPECT_EQ(ledger.Of(1).others.retries, 3u);
  EXPECT_EQ(ledger.Of(1).others.hedges, 2u);
  EXPECT_EQ(ledger.Of(1).others.failures, 1u);
  EXPECT_EQ(ledger.Of(7).job, 7u);
  EXPECT_EQ(ledger.Of(7).gets.requests, 0u);
  const std::vector<JobRequests> all = ledger.Snapshot();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].job, 1u);
  EXPECT_EQ(all[1].job, 2u);
}

TEST(LedgerTest, WhatAForgottenJobAskedForIsNotLost) {
  Ledger ledger;
  ledger.Book(2, RequestKind::kGet, Counts(1, 10));
  ledger.Book(3, RequestKind::kGet, Counts(1, 20));
  ledger.Forget(2);
  ledger.Forget(3);
  ledger.Forget(4);
  EXPECT_EQ(ledger.Of(2).gets.requests, 0u);
  EXPECT_EQ(ledger.Of(0).gets.requests, 2u);
  EXPECT_EQ(ledger.Snapshot().size(), 1u);
}

TEST(LedgerTest, ThreadsMayBookAtOnce) {
  Ledger ledger;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&ledger] {
      for (int j = 0; j < 1000; ++j)
        ledger.Book(j % 2, RequestKind::kGet, Counts(1, 1));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.Of(0).gets.requests + ledger.Of(1).gets.bytes, 4000u);
}

}  // namespace
}  // namespace forebay::storage::http
