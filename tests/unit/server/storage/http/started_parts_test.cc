#include "server/storage/http/started_parts.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "tests/catch/catch.h"

namespace forebay::storage::http {
namespace {

class StartedPartsTest {
 protected:
  using Id = StartedParts::Id;

  void Begin(Id id, std::int64_t now) {
    places_.insert(id);
    parts_.Begin(id, 100, now);
  }
  // Checks twice, because a part only counts as stalled after two checks.
  void Look(std::int64_t now) {
    LookOnce(now);
    LookOnce(now);
  }
  void LookOnce(std::int64_t now) {
    parts_.Look(now, /*stall_nanos=*/10, [this](Id id) {
      const auto found = heard_.find(id);
      return found == heard_.end() ? INT64_MIN : found->second;
    });
  }
  // Returns the parts that have a place. Each part takes and returns one place
  // at a time.
  std::set<Id> Places() {
    CHECK(parts_.bytes() == 100 * places_.size());
    return places_;
  }

  std::set<Id> places_;
  std::map<Id, std::int64_t> heard_;
  StartedParts parts_{
      {.give_back = [this](Id id) { CHECK(places_.erase(id) == 1); },
       .take = [this](Id id) { CHECK(places_.insert(id).second); }}};
};

TEST_CASE_METHOD(StartedPartsTest,
                 "A started part that brings nothing gives its place back",
                 "[http][started_parts]") {
  Begin(1, 0);
  Begin(2, 5);
  Look(9);
  CHECK(Places() == std::set<Id>{1, 2});
  Look(10);
  CHECK(Places() == std::set<Id>{2});
  heard_[2] = 8;
  Look(17);
  CHECK(Places() == std::set<Id>{2});
  Look(18);  // its bytes have stopped
  CHECK(Places().empty());
  Look(30);
  CHECK(Places().empty());
}

// The thread that reads the bytes may have had no CPU time for a while.
TEST_CASE_METHOD(
    StartedPartsTest,
    "Bytes of a started part that were not read yet are not a stall",
    "[http][started_parts]") {
  Begin(1, 0);
  LookOnce(50);
  heard_[1] = 50;
  LookOnce(100);
  heard_[1] = 100;
  LookOnce(150);
  CHECK(Places() == std::set<Id>{1});
  LookOnce(151);
  CHECK(Places().empty());
}

TEST_CASE_METHOD(StartedPartsTest,
                 "A started part that goes on takes a place again",
                 "[http][started_parts]") {
  Begin(1, 0);
  Look(10);
  heard_[1] = 15;
  Look(16);
  CHECK(Places() == std::set<Id>{1});
  Look(25);
  CHECK(Places().empty());
  parts_.End(1);
  CHECK(parts_.empty());
  CHECK(parts_.bytes() == 0u);
}

TEST_CASE_METHOD(StartedPartsTest,
                 "A started part that pauses has no place until it is its turn",
                 "[http][started_parts]") {
  Begin(1, 0);
  Begin(2, 0);
  parts_.Pause(2);
  parts_.Pause(1);
  CHECK(Places().empty());
  CHECK(parts_.TakeNext(5) == std::nullopt);
  heard_[1] = heard_[2] = 5;
  Look(6);
  CHECK(Places().empty());
  parts_.MakeReady(2);
  parts_.MakeReady(1);
  Look(7);
  CHECK(Places().empty());
  CHECK(parts_.TakeNext(20) == 2u);
  CHECK(Places() == std::set<Id>{2});
  CHECK(parts_.TakeNext(20) == 1u);
  CHECK(parts_.TakeNext(20) == std::nullopt);
  Look(29);  // counts from the next attempt's beginning
  CHECK(Places() == std::set<Id>{1, 2});
  Look(30);
  CHECK(Places().empty());
}

TEST_CASE_METHOD(StartedPartsTest, "A started part that has stalled may pause",
                 "[http][started_parts]") {
  Begin(1, 0);
  Look(10);
  parts_.Pause(1);
  CHECK(Places().empty());
  parts_.MakeReady(1);
  CHECK(parts_.TakeNext(20) == 1u);
  CHECK(Places() == std::set<Id>{1});
}

TEST_CASE_METHOD(StartedPartsTest, "Started parts may end in any state",
                 "[http][started_parts]") {
  for (Id id = 1; id <= 4; ++id) Begin(id, 0);
  Look(10);
  Begin(5, 10);
  parts_.Pause(2);
  parts_.MakeReady(3);
  parts_.MakeReady(4);
  for (Id id : {1, 2, 3, 5}) parts_.End(id);
  places_.erase(5);
  CHECK(Places().empty());
  CHECK(parts_.TakeNext(20) == 4u);
  parts_.End(7);
  parts_.Pause(7);
  parts_.MakeReady(7);
  CHECK(parts_.TakeNext(20) == std::nullopt);
  CHECK_FALSE(parts_.empty());
}

}  // namespace
}  // namespace forebay::storage::http
