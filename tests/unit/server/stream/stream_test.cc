#include "server/stream/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "proto/job.pb.h"
#include "tests/unit/server/base/sealed_numbers.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

constexpr std::uint32_t kDefaultSlots = 2 + kLeaseQuota;

std::vector<std::uint64_t> Expected(const StreamSpec& stream_spec,
                                    std::uint64_t epoch,
                                    std::uint64_t first = 0) {
  std::vector<std::uint64_t> ids;
  for (auto i = first; i < stream_spec.sampler.samples_per_epoch(); ++i) {
    ids.push_back(stream_spec.sampler.Epoch(epoch).SampleAt(i));
  }
  return ids;
}

// Takes and releases batches until the epoch's closing entry, which it returns.
proto::ReadyEntry Drain(FakeClient& client, FakeProduction& production,
                        std::vector<std::uint64_t>* ids) {
  while (true) {
    production.RunAll();
    const auto entry = client.Take();
    if (!entry.has_value()) {
      ADD_FAILURE() << "the stream has dried up";
      return {};
    }
    if (entry->kind != proto::ReadyKind::kBatch) return *entry;
    const auto batch = client.Read(*entry);
    ids->insert(ids->end(), batch.begin(), batch.end());
    EXPECT_TRUE(client.Release(*entry).ok());
  }
}

TEST(StreamTest, DeliversAnEpochInItsOrderWhateverTheOrderOfCompletion) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec = FakeStreamSpec(103, 10);
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    for (const std::uint64_t epoch : {0, 1, 5}) {
      ASSERT_TRUE(client.Start(epoch, 0).ok());
      std::vector<std::uint64_t> ids;
      const auto end = Drain(client, production, &ids);
      EXPECT_EQ(end.kind, proto::ReadyKind::kEndOfEpoch);
      EXPECT_EQ(ids, Expected(stream_spec, epoch));
    }
    EXPECT_EQ(stream->Snapshot(client.member()).taken.samples_delivered,
              3 * 103);
    EXPECT_EQ(stream->Snapshot(client.member()).taken.batches_delivered,
              3 * 11);
  }
}

TEST(StreamTest, DeliversTheSamplesOfAList) {
  FakeProduction production(1);
  base::MemoryBudget budget(1 << 20);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 3,
                                     [](proto::LoaderSpec& spec) {
                                       spec.mutable_sampler()->set_order(
                                           proto::SamplerSpec::LISTED);
                                     }),
                      production.deps());
  FakeClient client(stream.get());
  // The lists differ in length, and some have repeats.
  const std::vector<std::uint64_t> lists[] = {
      {5, 5, 99, 0, 5, 7, 1}, {2}, {}, {8, 9, 10, 11}};
  for (const auto& list : lists) {
    for (std::uint64_t first = 0; first <= list.size(); ++first) {
      ASSERT_TRUE(
          client.StartListed(3, base::MakeList(list, 100, &budget), first)
              .ok());
      EXPECT_EQ(stream->samples_per_epoch(), list.size());
      std::vector<std::uint64_t> ids;
      const auto end = Drain(client, production, &ids);
      EXPECT_EQ(end.kind, proto::ReadyKind::kEndOfEpoch);
      EXPECT_EQ(ids, std::vector<std::uint64_t>(
                         list.begin() + static_cast<std::ptrdiff_t>(first),
                         list.end()));
    }
    EXPECT_TRUE(absl::IsOutOfRange(client.StartListed(
        3, base::MakeList(list, 100, &budget), list.size() + 1)));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(client.Start(0, 0)));
}

TEST(StreamTest, ReadsNothingWithoutAFreeSlot) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(1000, 10), production.deps());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  EXPECT_EQ(production.reads(), kDefaultSlots * 10);
  production.RunAll();
  std::vector<proto::ReadyEntry> held;
  while (const auto entry = client.Take()) held.push_back(*entry);
  EXPECT_EQ(held.size(), kDefaultSlots);
  EXPECT_FALSE(production.Step());
  ASSERT_TRUE(client.Release(held[2]).ok());
  EXPECT_EQ(production.reads(), 10);
}

// Batches that are finished before their turn keep their slots.
TEST(StreamTest, MakesNothingTwice) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    FakeProduction production(seed);
    const auto stream =
        *Stream::Create(FakeStreamSpec(300, 10), production.deps());
    FakeClient client(stream.get());
    ASSERT_TRUE(client.Start(0, 0).ok());
    std::deque<proto::ReadyEntry> held;
    for (bool more = true; more;) {
      while (held.size() > seed % 3) {
        ASSERT_TRUE(client.Release(held.front()).ok());
        held.pop_front();
      }
      const auto entry = client.Take();
      if (entry.has_value()) {
        more = entry->kind == proto::ReadyKind::kBatch;
        if (more) held.push_back(*entry);
      } else {
        ASSERT_TRUE(production.Step());
      }
    }
    EXPECT_EQ(stream->Snapshot(client.member()).made.samples_decoded, 300);
  }
}

TEST(StreamTest, ATaskMakesSeveralSamples) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(1000, 10), production.deps());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  production.CompleteReads();
  EXPECT_GE(production.tasks(), 1);
  EXPECT_LT(production.tasks(), kDefaultSlots * 10 / 2);
  production.RunAll();
  EXPECT_EQ(stream->Snapshot(client.member()).made.samples_decoded,
            kDefaultSlots * 10);
}

TEST(StreamTest, PassesOverTheFirstSamples) {
  FakeProduction production(2);
  const StreamSpec stream_spec = FakeStreamSpec(103, 10);
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  for (const std::uint64_t first : {37, 103, 102}) {
    ASSERT_TRUE(client.Start(4, first).ok());
    std::vector<std::uint64_t> ids;
    Drain(client, production, &ids);
    EXPECT_EQ(ids, Expected(stream_spec, 4, first));
    EXPECT_EQ(stream->Snapshot(client.member()).taken.position, 103);
  }
  EXPECT_TRUE(absl::IsOutOfRange(client.Start(4, 104)));
}

TEST(StreamTest, LeavesOutASmallerLastBatchWhereAsked) {
  FakeProduction production(3);
  const StreamSpec stream_spec =
      FakeStreamSpec(25, 10, [](proto::LoaderSpec& spec) {
        spec.mutable_batch()->set_drop_last(true);
      });
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  EXPECT_EQ(stream->batches_per_epoch(), 2);
  ASSERT_TRUE(client.Start(0, 0).ok());
  std::vector<std::uint64_t> ids;
  Drain(client, production, &ids);
  EXPECT_EQ(ids.size(), 20);
}

TEST(StreamTest, StopsAtAnyMomentAndStartsAnew) {
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec = FakeStreamSpec(200, 10);
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      ASSERT_TRUE(client.Start(epoch, 0).ok());
      EXPECT_TRUE(absl::IsFailedPrecondition(client.Start(epoch, 0)));
      for (auto steps = random() % 100; steps > 0; --steps) production.Step();
      client.Stop();
      // A published batch belongs to the client until it releases it. Batches
      // in flight are completed later, perhaps after the next start.
      while (const auto entry = client.Take()) {
        EXPECT_EQ(entry->epoch, epoch);
        ASSERT_TRUE(client.Release(*entry).ok());
      }
      if (random() % 2 == 0) production.RunAll();
    }
    ASSERT_TRUE(client.Start(9, 0).ok());
    std::vector<std::uint64_t> ids;
    Drain(client, production, &ids);
    EXPECT_EQ(ids, Expected(stream_spec, 9));
    EXPECT_TRUE(stream->Reclaim(0));
  }
}

TEST(StreamTest, EndsTheEpochWithTheFirstErrorAfterTheBatchesBeforeIt) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec = FakeStreamSpec(100, 10);
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    const std::uint64_t bad = stream_spec.sampler.Epoch(0).SampleAt(34);
    const std::uint64_t worse = stream_spec.sampler.Epoch(0).SampleAt(37);
    production.answers[std::to_string(bad)] = storage::ReadResult();
    production.answers[std::to_string(worse)] =
        absl::UnavailableError("the disk is away");
    ASSERT_TRUE(client.Start(0, 0).ok());
    std::vector<std::uint64_t> ids;
    const auto end = Drain(client, production, &ids);
    EXPECT_EQ(end.kind, proto::ReadyKind::kError);
    EXPECT_EQ(client.error(), "sample " + std::to_string(bad) +
                                  " of /data: " + std::to_string(bad) +
                                  ": has only 0 of 100 bytes");
    std::vector<std::uint64_t> before = Expected(stream_spec, 0);
    before.resize(30);
    EXPECT_EQ(ids, before);
    production.RunAll();
    EXPECT_TRUE(stream->Reclaim(0));
  }
}

TEST(StreamTest, SubstitutesCorruptSamplesAlikeEveryTime) {
  std::vector<std::uint64_t> first_run;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    FakeProduction production(seed);
    const StreamSpec stream_spec =
        FakeStreamSpec(100, 10, [](proto::LoaderSpec& spec) {
          spec.mutable_batch()->set_on_error(proto::BatchSpec::SUBSTITUTE);
        });
    for (const int bad : {3, 14, 15, 92}) {
      production.answers[std::to_string(bad)] = storage::ReadResult();
    }
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    ASSERT_TRUE(client.Start(0, 0).ok());
    std::vector<std::uint64_t> ids;
    EXPECT_EQ(Drain(client, production, &ids).kind,
              proto::ReadyKind::kEndOfEpoch);
    if (first_run.empty()) first_run = ids;
    EXPECT_EQ(ids, first_run);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 14), 0);
    EXPECT_GE(stream->Snapshot(1).made.samples_substituted, 4);
    const std::vector<std::uint64_t> plain = Expected(stream_spec, 0);
    int differing = 0;
    for (std::size_t i = 0; i < ids.size(); ++i)
      differing += ids[i] != plain[i];
    EXPECT_EQ(differing, 4);
  }
}

TEST(StreamTest, NeverSubstitutesAPassingFaultOrAChangedFile) {
  for (const absl::Status& fault :
       {absl::UnavailableError("5: away"),
        absl::FailedPreconditionError("5: was replaced"),
        absl::NotFoundError("5: no such file"),
        absl::InvalidArgumentError("5: is a FIFO, not a regular file")}) {
    FakeProduction production(1);
    const StreamSpec stream_spec =
        FakeStreamSpec(10, 10, [](proto::LoaderSpec& spec) {
          spec.mutable_batch()->set_on_error(proto::BatchSpec::SUBSTITUTE);
        });
    production.answers["5"] = fault;
    const auto stream = *Stream::Create(stream_spec, production.deps());
    FakeClient client(stream.get());
    ASSERT_TRUE(client.Start(0, 0).ok());
    std::vector<std::uint64_t> ids;
    EXPECT_EQ(Drain(client, production, &ids).kind, proto::ReadyKind::kError);
    const bool changed =
        absl::IsFailedPrecondition(fault) || absl::IsNotFound(fault);
    EXPECT_EQ(production.changes(), changed ? 1 : 0);
  }
}

TEST(StreamTest, GivesUpWhereEverySampleIsCorrupt) {
  FakeProduction production(1);
  const StreamSpec stream_spec =
      FakeStreamSpec(3, 1, [](proto::LoaderSpec& spec) {
        spec.mutable_batch()->set_on_error(proto::BatchSpec::SUBSTITUTE);
      });
  for (const char* id : {"0", "1", "2"})
    production.answers[id] = storage::ReadResult();
  const auto stream = *Stream::Create(stream_spec, production.deps());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  std::vector<std::uint64_t> ids;
  EXPECT_EQ(Drain(client, production, &ids).kind, proto::ReadyKind::kError);
}

TEST(StreamTest, RefusesReleasesOfWhatIsNotHeld) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  ASSERT_TRUE(client.Start(0, 0).ok());
  production.RunAll();
  const auto entry = client.Take();
  ASSERT_TRUE(client.Release(*entry).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(client.Release(*entry))) << "twice";
  client.release_ring().Push({.slot = 4000000000, .generation = 1});
  EXPECT_TRUE(absl::IsInvalidArgument(stream->TakeReleases(client.member())));
  client.release_ring().tail.store(77777);
  EXPECT_TRUE(absl::IsInvalidArgument(stream->TakeReleases(client.member())));
}

TEST(StreamTest, ReservesItsMemoryAsLongAsItLives) {
  FakeProduction production(1);
  auto hog =
      production.budget().Reserve(production.budget().limit() - 1000, "others");
  const auto refused =
      Stream::Create(FakeStreamSpec(100, 10), production.deps());
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_EQ(production.budget().used(), hog->bytes()) << "nothing is kept";
  hog->Release();
  {
    const auto stream =
        Stream::Create(FakeStreamSpec(100, 10), production.deps());
    ASSERT_TRUE(stream.ok()) << stream.status();
    const std::uint64_t before = production.budget().used();
    const std::uint64_t slots = kDefaultSlots * (*stream)->slot_size().host;
    {
      const FakeClient client(stream->get());
      EXPECT_EQ(production.budget().used(), before + slots);
      hog = production.budget().Reserve(
          production.budget().limit() - before - slots - 1000, "others");
      const auto channel = *arena::Channel::Create();
      EXPECT_TRUE(absl::IsResourceExhausted(
          (*stream)->Join(channel.get(), 2).status()));
      hog->Release();
    }
    EXPECT_EQ(production.budget().used(), 0) << "nobody pays";
    const FakeClient client(stream->get());
    EXPECT_EQ(production.budget().used(), before + slots);
  }
  EXPECT_EQ(production.budget().used(), 0);
}

TEST(StreamTest, StartsNoMoreEpochsForAMemberThatTakesNothing) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  absl::Status status;
  std::uint32_t started = 0;
  for (; status.ok() && started < 1000; ++started) {
    status = client.Start(0, 100);
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_LE(started - 1 + kDefaultSlots, proto::kReadyCapacity);
  while (client.Take().has_value()) {
  }
  EXPECT_TRUE(client.Start(0, 100).ok());
}

TEST(StreamTest, PeeksAtTheBatchPublishedLastAndHoldsNothing) {
  FakeProduction production(1);
  const auto stream =
      *Stream::Create(FakeStreamSpec(100, 10), production.deps());
  FakeClient client(stream.get());
  EXPECT_TRUE(absl::IsUnavailable(stream->Peek().status()));
  ASSERT_TRUE(client.Start(0, 0).ok());
  production.RunAll();
  const auto slot = stream->Peek();
  ASSERT_TRUE(slot.ok()) << slot.status();
  proto::BatchHeader header;
  std::memcpy(&header, slot->bytes.data(), sizeof(header));
  EXPECT_EQ(header.sample_count, 10);
  EXPECT_EQ(header.first_sample, 10 * (kDefaultSlots - 1));
  while (const auto entry = client.Take()) {
    ASSERT_TRUE(client.Release(*entry).ok());
  }
  EXPECT_EQ(stream->Snapshot(1).slot_counts.leased, 0);
}

}  // namespace
}  // namespace forebay::stream
