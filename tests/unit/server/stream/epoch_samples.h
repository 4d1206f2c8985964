#ifndef FOREBAY_TESTS_UNIT_SERVER_STREAM_EPOCH_SAMPLES_H_
#define FOREBAY_TESTS_UNIT_SERVER_STREAM_EPOCH_SAMPLES_H_

#include <cstdint>
#include <vector>

#include "server/stream/stream_spec.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {

// Returns the samples of an epoch, in its order.
inline std::vector<std::uint64_t> Expected(const StreamSpec& stream_spec,
                                           std::uint64_t epoch,
                                           std::uint64_t first = 0) {
  std::vector<std::uint64_t> ids;
  for (auto i = first; i < stream_spec.sampler.samples_per_epoch(); ++i) {
    ids.push_back(stream_spec.sampler.Epoch(epoch).SampleAt(i));
  }
  return ids;
}

// Takes and releases batches until the entry that closes the epoch, and returns
// that entry.
inline proto::ReadyEntry Drain(FakeClient& client, FakeProduction& production,
                               std::vector<std::uint64_t>* ids) {
  while (true) {
    production.RunAll();
    const auto entry = client.Take();
    if (!entry.has_value()) {
      FAIL_CHECK("the stream has dried up");
      return {};
    }
    if (entry->kind != proto::ReadyKind::kBatch) return *entry;
    const auto batch = client.Read(*entry);
    ids->insert(ids->end(), batch.begin(), batch.end());
    CHECK_THAT(client.Release(*entry), tests::IsOk());
  }
}

}  // namespace forebay::stream

#endif  // FOREBAY_TESTS_UNIT_SERVER_STREAM_EPOCH_SAMPLES_H_
