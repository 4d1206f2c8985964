// Runs members of one stream under random schedules. They join, leave, stall,
// die, stop in mid-epoch and continue elsewhere, and caps delay them. The
// stream itself restarts, as with a new daemon. Each member must get each of
// its samples once, in order. No slot may leak, and no member may wait for
// ever.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "proto/job.pb.h"
#include "server/stream/stream.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/results.h"
#include "tests/unit/server/stream/fake_client.h"
#include "tests/unit/server/stream/fake_production.h"

namespace forebay::stream {
namespace {

using tests::IsOk;

constexpr std::uint64_t kBatch = 7;

// A trainer. Its position remains when its session ends.
struct Trainer {
  std::unique_ptr<FakeClient> client;
  std::deque<proto::ReadyEntry> held;
  std::uint32_t slots = 0;
  schedule::Flow flow = 0;
  bool capped = false;
  bool running = false;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // position of the next sample
};

class Schedule {
 public:
  explicit Schedule(std::uint32_t seed)
      : random_(seed),
        production_(seed),
        spec_(FakeStreamSpec(Draw(1, 200), kBatch,
                             [this](proto::LoaderSpec& spec) {
                               spec.mutable_batch()->set_drop_last(Draw(0, 3) ==
                                                                   0);
                             })),
        trainers_(Draw(1, 5)) {
    if (Draw(0, 1) == 0) {  // the host has little memory
      base::MemoryBudget& budget = production_.budget();
      others_ =
          *budget.Reserve(budget.limit() - (std::uint64_t{64} << 20), "others");
    }
    for (Trainer& trainer : trainers_) trainer.flow = Draw(1, 4);
    Restart();
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i)
      Step(trainers_[Draw(0, trainers_.size() - 1)]);
    Settle();
  }

 private:
  std::uint64_t Draw(std::uint64_t least, std::uint64_t most) {
    return least + random_() % (most - least + 1);
  }

  // Ends all sessions, and makes a new stream. Trainers keep their positions.
  void Restart() {
    for (Trainer& trainer : trainers_) Die(trainer);
    production_.RunAll();
    sharing_mode_ =
        Draw(0, 4) == 0 ? SharingMode::kLockstep : SharingMode::kElastic;
    stream_ = *Stream::Create(spec_, production_.deps(), sharing_mode_);
    for (Trainer& trainer : trainers_) Join(trainer);
  }
  void Join(Trainer& trainer) {
    const auto depth = static_cast<std::uint32_t>(Draw(1, 4));
    trainer.slots = SlotsFor(depth);
    trainer.client =
        std::make_unique<FakeClient>(stream_.get(), trainer.flow, depth);
    stream_->SetCapped(trainer.client->member(), trainer.capped);
    if (trainer.running) Start(trainer);
  }
  void Die(Trainer& trainer) {
    trainer.held.clear();
    trainer.client = nullptr;
  }
  void Start(Trainer& trainer) {
    trainer.running = true;
    REQUIRE_THAT(trainer.client->Start(trainer.epoch, trainer.position),
                 IsOk());
  }

  void Step(Trainer& trainer) {
    switch (Draw(0, 20)) {
      case 0:
        if (!trainer.running) {
          trainer.epoch = Draw(0, 2);
          trainer.position =
              Draw(0, 2) == 0 ? Draw(0, spec_.dataset->size()) : 0;
          Start(trainer);
        }
        break;
      case 1:
        if (Draw(0, 3) == 0) {
          trainer.client->Stop();
          Drain(trainer);
          trainer.running = false;
        }
        break;
      case 2:
        if (Draw(0, 3) == 0) {
          Die(trainer);
          Join(trainer);
        }
        break;
      case 3:
        if (Draw(0, 9) == 0) Restart();
        break;
      case 4:
        production_.clock().Advance(
            static_cast<std::int64_t>(Draw(0, 2'000'000'000)));
        stream_->ReleaseIdleMemory();
        stream_->Reclaim(0);
        break;
      case 20:
        SetCaps();
        break;
      case 5:
      case 6:
      case 7:
      case 8:
        Take(trainer);
        break;
      case 9:
      case 10:
      case 11:
        if (!trainer.held.empty()) Release(trainer);
        break;
      default:
        for (auto left = Draw(0, 20); left > 0; --left) production_.Step();
    }
  }

  // Caps a random job, and thus all its trainers.
  void SetCaps() {
    production_.LiftCaps();
    const schedule::Flow capped = Draw(1, 8);  // perhaps no trainer's flow
    if (Draw(0, 1) == 0) production_.CapTasks(capped);
    if (Draw(0, 1) == 0) production_.CapReads(capped);
    for (Trainer& trainer : trainers_) {
      trainer.capped = trainer.flow == capped;
      stream_->SetCapped(trainer.client->member(), trainer.capped);
    }
  }

  // Takes an entry. Returns whether there was one.
  bool Take(Trainer& trainer) {
    const auto entry = trainer.client->Take();
    if (!entry.has_value()) return false;
    if (entry->kind != proto::ReadyKind::kBatch) {
      CHECK(entry->kind == proto::ReadyKind::kEndOfEpoch);
      CHECK(trainer.running);
      const std::uint64_t left = spec_.dataset->size() - trainer.position;
      CAPTURE(left);
      CHECK((left == 0 || (spec_.batch.drop_last && left < kBatch)));
      trainer.running = false;
      return true;
    }
    CHECK(entry->epoch == trainer.epoch);
    for (const std::uint64_t id : trainer.client->Read(*entry)) {
      CHECK(id ==
            spec_.sampler.Epoch(trainer.epoch).SampleAt(trainer.position));
      ++trainer.position;
    }
    trainer.held.push_back(*entry);
    CHECK(trainer.held.size() <= trainer.slots);
    return true;
  }
  void Release(Trainer& trainer) {
    const std::size_t drawn = Draw(0, trainer.held.size() - 1);
    CHECK_THAT(trainer.client->Release(trainer.held[drawn]), IsOk());
    trainer.held.erase(trainer.held.begin() +
                       static_cast<std::ptrdiff_t>(drawn));
  }
  void Drain(Trainer& trainer) {
    while (const auto entry = trainer.client->Take()) {
      if (entry->kind != proto::ReadyKind::kBatch) continue;
      REQUIRE_THAT(trainer.client->Release(*entry), IsOk());
    }
  }

  // All trainers read on to the end of the epoch. At any time, at least one of
  // them can. Except in lockstep, those without a cap finish while the caps
  // still hold.
  void Settle() {
    if (sharing_mode_ == SharingMode::kElastic) ReadOn(/*capped_too=*/false);
    production_.LiftCaps();
    ReadOn(/*capped_too=*/true);
    production_.RunAll();
    UNSCOPED_INFO("a slot is held by nobody");
    CHECK(stream_->Reclaim(0));
    for (Trainer& trainer : trainers_) Die(trainer);
    stream_ = nullptr;
    CHECK(production_.budget().used() == others_.bytes());
  }
  void ReadOn(bool capped_too) {
    for (bool more = true; more;) {
      production_.RunAll();
      more = false;
      bool progress = false;
      for (Trainer& trainer : trainers_) {
        if (trainer.capped && !capped_too) continue;
        while (Take(trainer)) progress = true;
        while (!trainer.held.empty()) {
          Release(trainer);
          progress = true;
        }
        more |= trainer.running;
      }
      UNSCOPED_INFO("nobody has anything to take");
      REQUIRE((progress || !more));
    }
  }

  std::mt19937 random_;
  FakeProduction production_;
  base::MemoryReservation others_;
  const StreamSpec spec_;
  std::vector<Trainer> trainers_;
  std::shared_ptr<Stream> stream_;
  SharingMode sharing_mode_ = SharingMode::kElastic;
};

TEST_CASE("Every member sees what it asked for once and in order",
          "[stream][stream_schedules]") {
  const std::uint32_t first_seed = std::random_device()();
  for (std::uint32_t i = 0; i < 2'000; ++i) {
    INFO("seed " << first_seed + i);
    Schedule schedule(first_seed + i);
    schedule.Run(150);
    if (tests::HasFailure()) return;
  }
}

}  // namespace
}  // namespace forebay::stream
