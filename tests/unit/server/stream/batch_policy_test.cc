#include "server/stream/batch_policy.h"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "proto/job.pb.h"
#include "server/sampler/sampler.h"
#include "tests/catch/catch.h"

namespace forebay::stream {
namespace {

constexpr std::uint64_t kEpoch = 1000;

// Returns the batch request of an open member whose trainer waits. Members
// ahead may give way to this member.
BatchRequest At(std::uint64_t position, double served = 0) {
  return {.member = 1,
          .key = {position / kEpoch, position % kEpoch},
          .position = position,
          .left = kEpoch - position % kEpoch,
          .open = true,
          .hungry = true,
          .claims = true,
          .served = served};
}

TEST_CASE("A stream's leader gives way if it has enough of its epoch left",
          "[stream][batch_policy]") {
  CHECK(GivesWay(At(300), At(0)));
  UNSCOPED_INFO("600 are not twice 400");
  CHECK_FALSE(GivesWay(At(400), At(0)));
  UNSCOPED_INFO("who is behind never does");
  CHECK_FALSE(GivesWay(At(0), At(300)));
  UNSCOPED_INFO("nor who is beside");
  CHECK_FALSE(GivesWay(At(300), At(300)));
  UNSCOPED_INFO("over an epoch's end");
  CHECK(GivesWay(At(1010), At(990)));
  CHECK_FALSE(GivesWay(At(5010), At(10)));
}

TEST_CASE("The member that catches up comes first however much it had",
          "[stream][batch_policy]") {
  CHECK(NextRequest({At(300, 1), At(0, 99)}) == 1);
  CHECK(NextRequest({At(0, 99), At(300, 1)}) == 0);
}

TEST_CASE("The member that had least comes first where nobody catches up",
          "[stream][batch_policy]") {
  CHECK(NextRequest({At(900, 7), At(0, 5)}) == 1);
  CHECK(NextRequest({At(900, 5), At(0, 7)}) == 0);
}

TEST_CASE("A stream's leader gives way only to a member that claims it",
          "[stream][batch_policy]") {
  BatchRequest fed = At(0, 99);
  fed.claims = false;
  CHECK(NextRequest({At(300, 1), fed}) == 0);
}

// The member behind may have no more batches in flight. The leader still gives
// way, because that member needs the threads.
TEST_CASE(
    "A stream's leader gives way even to a member that can have no more "
    "batches",
    "[stream][batch_policy]") {
  BatchRequest full = At(0);
  full.open = false;
  CHECK(NextRequest({At(300), full}) == std::nullopt);
  CHECK(NextRequest({At(900), full}) == 0);
  CHECK(NextRequest({full}) == std::nullopt);
  CHECK(NextRequest({}) == std::nullopt);
}

// The member at 300 gives way to the one at 250; the one at 900 gives way to
// nobody.
TEST_CASE("A member that gives way is out of the question for the next batch",
          "[stream][batch_policy]") {
  CHECK(NextRequest({At(300, 0), At(250, 9), At(900, 8)}) == 2);
  CHECK(NextRequest({At(300, 0), At(250, 8), At(900, 9)}) == 1);
}

// Returns the eviction of a batch that took 10 ns to make and lies before the
// requested batch.
Eviction For(const std::vector<Eviction::Reader>& readers) {
  return {.readers = readers, .make_nanos = 10, .is_before = true};
}
constexpr Eviction::Reader kSoon = {.nanos = 40};
constexpr Eviction::Reader kLater = {.nanos = 41};

TEST_CASE(
    "A batch that is read before it could be made again stays in its slot",
    "[stream][batch_policy]") {
  CHECK(MayEvict(For({})));
  CHECK(MayEvict(For({kLater})));
  CHECK_FALSE(MayEvict(For({kLater, kSoon})));
  CHECK(MayEvict(For({{.nanos = 40, .capped = true}})));
  UNSCOPED_INFO("the requester reads it first");
  CHECK_FALSE(MayEvict(For({{.nanos = 99, .is_requester = true}})));
  const std::vector<Eviction::Reader> soon = {kSoon};
  Eviction behind = For(soon);
  behind.is_before = false;
  CHECK(MayEvict(behind));
}

TEST_CASE("In lockstep a batch that anybody still reads stays in its slot",
          "[stream][batch_policy]") {
  const std::vector<Eviction::Reader> later = {kLater};
  Eviction eviction = For(later);
  eviction.sharing_mode = SharingMode::kLockstep;
  CHECK_FALSE(MayEvict(eviction));
  eviction.readers = {};
  CHECK(MayEvict(eviction));
}

TEST_CASE(
    "A batch waits for a slot that is being made rather than evict another",
    "[stream][batch_policy]") {
  Eviction eviction = For({});
  eviction.grows = true;
  CHECK_FALSE(MayEvict(eviction));
  eviction.hungry = true;
  UNSCOPED_INFO("threads have batches to make");
  CHECK_FALSE(MayEvict(eviction));
  eviction.none_in_flight = true;
  CHECK(MayEvict(eviction));
}

// Even a batch that will be read soon is evicted, so that no thread is idle
// while a trainer waits.
TEST_CASE("While all work hangs a trainer that waits gets the slot",
          "[stream][batch_policy]") {
  const std::vector<Eviction::Reader> soon = {kSoon};
  Eviction eviction = For(soon);
  eviction.hangs = true;
  CHECK_FALSE(MayEvict(eviction));
  eviction.has_nothing = true;
  CHECK(MayEvict(eviction));
  eviction.has_nothing = false;
  eviction.hungry = true;
  CHECK(MayEvict(eviction));
}

class SharingTest {
 protected:
  SharingTest() {
    proto::SamplerSpec spec;
    spec.set_order(proto::SamplerSpec::SEQUENTIAL);
    epochs_ = EpochPair::Of(*sampler::Sampler::Create(spec, kEpoch), 0);
  }

  // Returns a member with 4 slots whose cursor is at `position` of epoch 0.
  MemberView View(std::uint64_t position) {
    cursors_.emplace_back(batch_).Start(epochs_, position);
    return {.cursor = &cursors_.back(), .slots = 4};
  }
  static MemberView Requesting(MemberView view, std::uint64_t position) {
    view.request = At(position);
    return view;
  }

  const BatchOptions batch_ = {.size = 10};
  std::shared_ptr<const EpochPair> epochs_;
  std::deque<Cursor> cursors_;
};

TEST_CASE_METHOD(SharingTest, "The only member of a stream is alone",
                 "[stream][batch_policy]") {
  CHECK(SharingOf({View(0)}, 0).state == SharingState::kAlone);
}

TEST_CASE_METHOD(SharingTest,
                 "Members within their slots of each other are together",
                 "[stream][batch_policy]") {
  const std::vector<MemberView> members = {View(40), View(0)};
  CHECK(SharingOf(members, 0).state == SharingState::kTogether);
  CHECK(SharingOf(members, 0).behind == 0u);
  CHECK(SharingOf(members, 1).state == SharingState::kTogether);
  CHECK(SharingOf(members, 1).behind == 40u);
}

TEST_CASE_METHOD(
    SharingTest,
    "A member that reads cached batches far behind the others trails",
    "[stream][batch_policy]") {
  MemberView behind = View(0);
  const MemberView ahead = View(500);
  CHECK(SharingOf({behind, ahead}, 0).state == SharingState::kApart);
  behind.has_next = true;
  CHECK(SharingOf({behind, ahead}, 0).state == SharingState::kTrailing);
  CHECK(SharingOf({behind, ahead}, 0).behind == 500u);
}

TEST_CASE_METHOD(SharingTest,
                 "A stream's leader yields to the follower that catches up",
                 "[stream][batch_policy]") {
  const std::vector<MemberView> members = {Requesting(View(300), 300),
                                           Requesting(View(0), 0)};
  CHECK(SharingOf(members, 0).state == SharingState::kYielding);
  CHECK(SharingOf(members, 1).state == SharingState::kCatching);
}

// The leader has too little of its epoch left to give way.
TEST_CASE_METHOD(SharingTest, "Members of a stream that do not meet are apart",
                 "[stream][batch_policy]") {
  const std::vector<MemberView> members = {Requesting(View(905), 905),
                                           Requesting(View(0), 0)};
  CHECK(SharingOf(members, 0).state == SharingState::kApart);
  CHECK(SharingOf(members, 1).state == SharingState::kApart);
}

}  // namespace
}  // namespace forebay::stream
