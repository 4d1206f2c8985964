#include "server/storage/domain_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/wrong_domain.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Notes what the sources of all domains see. Thread-safe.
struct Book {
  base::Mutex mutex;
  std::map<std::string, std::deque<ReadRequest>> asked;
  std::vector<std::string> made;
  std::vector<std::string> ended;
  std::map<std::string, double> weights;  // of job 1
  std::map<std::string, std::vector<std::uint64_t>> shared;
};

// Answers when the test says so.
class PatientDomain final : public SharedOutSource {
 public:
  PatientDomain(std::string name, Book* book)
      : name_(std::move(name)), book_(book) {
    base::MutexLock lock(&book_->mutex);
    book_->made.push_back(name_);
  }
  ~PatientDomain() override {
    base::MutexLock lock(&book_->mutex);
    book_->ended.push_back(name_);
  }
  void Read(absl::Span<ReadRequest> requests) override {
    base::MutexLock lock(&book_->mutex);
    for (ReadRequest& request : requests)
      book_->asked[name_].push_back(std::move(request));
  }
  void Share(std::uint64_t ticket, const ReadPurpose&) override {
    base::MutexLock lock(&book_->mutex);
    book_->shared[name_].push_back(ticket);
  }
  void SetWeight(schedule::Flow, double weight) override {
    base::MutexLock lock(&book_->mutex);
    book_->weights[name_] = weight;
  }
  SourceState State() const override {
    base::MutexLock lock(&book_->mutex);
    return {.concurrency = 4,
            .in_flight = book_->asked[name_].size(),
            .waiting = 1,
            .stalled = 2,
            .request_cost = name_ == "a" ? 7 : 5};
  }

 private:
  const std::string name_;
  Book* const book_;
};

// Answers every read at once.
class IdleDomain final : public SharedOutSource {
 public:
  explicit IdleDomain(std::function<void()> ends) : ends_(std::move(ends)) {}
  ~IdleDomain() override { ends_(); }
  void Read(absl::Span<ReadRequest> requests) override {
    for (ReadRequest& request : requests) request.done(ReadResult());
  }
  SourceState State() const override { return {}; }

 private:
  const std::function<void()> ends_;
};

class DomainSourceTest : public ::testing::Test {
 protected:
  DomainSourceTest() : source_(std::in_place, Options()) {}

  DomainSourceOptions Options() {
    return {.domain_of =
                [this](const ReadRequest& request) {
                  const auto moved = moved_.find(request.object);
                  return moved != moved_.end() ? moved->second
                                               : request.object.substr(0, 1);
                },
            .make =
                [this](const std::string& domain) {
                  return std::make_unique<PatientDomain>(domain, &book_);
                },
            .objects_move = true,
            .most = 3,
            .clock = &clock_};
  }

  void Read(const std::vector<std::string>& objects) {
    std::vector<ReadRequest> requests;
    for (const std::string& object : objects) {
      requests.emplace_back();
      requests.back().root = root_;
      requests.back().object = object;
      requests.back().done = [this,
                              object](const absl::StatusOr<ReadResult>& said) {
        answers_.push_back(object + (said.ok() ? " ok" : " failed"));
        if (!said.ok()) error_ = said.status();
      };
    }
    source_->Read(absl::MakeSpan(requests));
  }
  // Answers the domain's oldest read.
  void Answer(const std::string& domain, const absl::Status& status = {}) {
    ReadRequest request;
    {
      base::MutexLock lock(&book_.mutex);
      ASSERT_FALSE(book_.asked[domain].empty());
      request = std::move(book_.asked[domain].front());
      book_.asked[domain].pop_front();
    }
    if (status.ok())
      request.done(ReadResult());
    else
      request.done(status);
  }
  std::size_t asked(const std::string& domain) {
    base::MutexLock lock(&book_.mutex);
    return book_.asked[domain].size();
  }

  base::FakeClock clock_;
  Book book_;
  std::map<std::string, std::string> moved_;  // domains of objects
  const std::shared_ptr<const Root> root_ = FakeRoot::Make({.uri = "root"});
  std::vector<std::string> answers_;
  absl::Status error_;
  std::optional<DomainSource> source_;
};

TEST_F(DomainSourceTest, EachDomainHasASourceOfItsOwn) {
  Read({"a1", "a2", "b1", "a3"});
  Read({"b2"});
  EXPECT_THAT(book_.made, ElementsAre("a", "b"));
  EXPECT_EQ(asked("a"), 3);
  EXPECT_EQ(asked("b"), 2);
  Answer("b");
  EXPECT_THAT(answers_, ElementsAre("b1 ok"));
  for (const char* const domain : {"a", "a", "a", "b"}) Answer(domain);
  EXPECT_EQ(answers_.size(), 5);
}

TEST_F(DomainSourceTest, AReadThatBelongsElsewhereIsMadeAgainThere) {
  Read({"a1"});
  moved_["a1"] = "b";
  Answer("a", WrongDomain("a1"));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(asked("b"), 1);
  Answer("b");
  EXPECT_THAT(answers_, ElementsAre("a1 ok"));
}

TEST_F(DomainSourceTest, WhoJoinedAReadHasJoinedItWhereItIsMadeAgain) {
  ReadRequest request;
  request.root = root_;
  request.object = "a1";
  request.ticket = 7;
  request.done = [](const auto&) {};
  source_->Read({&request, 1});
  source_->Share(7, {.job = 2});
  moved_["a1"] = "b";
  Answer("a", WrongDomain("a1"));
  EXPECT_THAT(book_.shared["b"], ElementsAre(7));
  Answer("b");
  // A job that comes after the read finds nothing to share.
  source_->Share(7, {.job = 3});
}

TEST_F(DomainSourceTest, AReadThatMovesAgainAndAgainFails) {
  Read({"a1"});
  for (const char* const next : {"b", "a", "b"}) {
    const std::string now = asked("a") > 0 ? "a" : "b";
    moved_["a1"] = next;
    Answer(now, WrongDomain("a1"));
  }
  EXPECT_THAT(answers_, IsEmpty());
  Answer(asked("a") > 0 ? "a" : "b", WrongDomain("a1"));
  EXPECT_THAT(answers_, ElementsAre("a1 failed"));
  EXPECT_TRUE(absl::IsUnavailable(error_)) << error_;
}

TEST_F(DomainSourceTest, AReadOfADomainThatDoesNotKnowItIsTriedThereOnceMore) {
  Read({"a1"});
  Answer("a", WrongDomain("a1"));
  EXPECT_EQ(asked("a"), 1);
  Answer("a", WrongDomain("a1"));
  EXPECT_THAT(answers_, ElementsAre("a1 failed"));
}

TEST_F(DomainSourceTest, FurtherDomainsAreRefused) {
  Read({"a1", "b1", "c1", "d1", "a2"});
  EXPECT_THAT(book_.made, ElementsAre("a", "b", "c"));
  EXPECT_THAT(answers_, ElementsAre("d1 failed"));
  EXPECT_EQ(error_,
            absl::UnavailableError(
                "d1: is not read: 3 hosts are read already, the most at once; "
                "end jobs that read from other hosts"));
  EXPECT_EQ(asked("a"), 2);
  for (const char* const domain : {"a", "a", "b", "c"}) Answer(domain);
}

TEST_F(DomainSourceTest, TheLimitMayBeThatOfSomeDomains) {
  DomainSourceOptions options = Options();
  options.is_limited = [](const std::string& domain) { return domain < "c"; };
  options.most = 1;
  source_.emplace(options);
  Read({"a1", "b1", "c1", "d1"});
  EXPECT_THAT(book_.made, ElementsAre("a", "c", "d"));
  EXPECT_THAT(answers_, ElementsAre("b1 failed"));
  for (const char* const domain : {"a", "c", "d"}) Answer(domain);
}

TEST_F(DomainSourceTest, ADomainWithoutASourceIsTriedAgain) {
  DomainSourceOptions options = Options();
  bool fails = true;
  options.make =
      [&](const std::string& name) -> std::unique_ptr<SharedOutSource> {
    if (std::exchange(fails, false)) return nullptr;
    return std::make_unique<PatientDomain>(name, &book_);
  };
  source_.emplace(options);
  Read({"a1"});
  EXPECT_EQ(error_,
            absl::UnavailableError("a1: is not read: the system gives the "
                                   "daemon no threads"));
  Read({"a1"});
  Answer("a");
  EXPECT_THAT(answers_, ElementsAre("a1 failed", "a1 ok"));
  source_.reset();
}

TEST_F(DomainSourceTest, LaterDomainsKnowTheWeights) {
  Read({"a1"});
  source_->SetWeight(1, 3);
  Read({"b1"});
  EXPECT_EQ(book_.weights["a"], 3);
  EXPECT_EQ(book_.weights["b"], 3);
  source_->Share(9, {});
  EXPECT_THAT(book_.shared["b"], ElementsAre(9));
  Answer("a");
  Answer("b");
}

TEST_F(DomainSourceTest, ItsStateIsTheSum) {
  Read({"a1", "a2", "b1"});
  const SourceState state = source_->State();
  EXPECT_EQ(state.concurrency, 8);
  EXPECT_EQ(state.in_flight, 3);
  EXPECT_EQ(state.waiting, 2);
  EXPECT_EQ(state.stalled, 4);
  EXPECT_EQ(state.request_cost, 7);
  for (const char* const domain : {"a", "a", "b"}) Answer(domain);
}

TEST_F(DomainSourceTest, BusyDomainsAreKept) {
  Read({"a1"});
  clock_.Advance(std::int64_t{3600} * 1'000'000'000);
  source_->ReleaseIdle();
  EXPECT_THAT(book_.ended, IsEmpty());
  Answer("a");
}

TEST_F(DomainSourceTest, IdleDomainsAreReleasedAfterAWhile) {
  std::vector<std::string> ended;
  DomainSourceOptions options = Options();
  options.make = [&ended](const std::string& domain) {
    return std::make_unique<IdleDomain>(
        [&ended, domain] { ended.push_back(domain); });
  };
  source_.emplace(options);
  Read({"a1", "b1"});
  source_->ReleaseIdle();
  EXPECT_THAT(ended, IsEmpty());
  clock_.Advance(options.idle_nanos);
  Read({"b2"});
  source_->ReleaseIdle();
  EXPECT_THAT(ended, ElementsAre("a"));
  source_->SetWeight(1, 2);  // reaches the one that is left
  Read({"a2"});
  EXPECT_EQ(answers_.size(), 4);
  source_.reset();
  EXPECT_THAT(ended, UnorderedElementsAre("a", "a", "b"));
}

TEST_F(DomainSourceTest, AFurtherDomainTakesThePlaceOfTheOneIdleForLongest) {
  std::vector<std::string> made;
  DomainSourceOptions options = Options();
  options.make =
      [&](const std::string& domain) -> std::unique_ptr<SharedOutSource> {
    made.push_back(domain);
    if (domain == "a") return std::make_unique<PatientDomain>(domain, &book_);
    return std::make_unique<IdleDomain>([] {});
  };
  source_.emplace(options);
  Read({"a1"});  // has a read in flight
  for (const char* const object : {"b1", "c1", "b2", "d1", "b3"}) {
    clock_.Advance(1);
    Read({object});
  }
  EXPECT_THAT(made, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(answers_.size(), 5);
  clock_.Advance(1);
  Read({"c2"});  // its source had ended
  EXPECT_THAT(made, ElementsAre("a", "b", "c", "d", "c"));
  EXPECT_THAT(answers_, ::testing::Not(::testing::Contains("c2 failed")));
  Answer("a");
  source_.reset();
}

// A read may be answered on a thread of its source, and its caller may read
// elsewhere there: the source cannot end on that thread.
TEST_F(DomainSourceTest, ADomainEndsOnNoThreadThatReads) {
  std::atomic<bool> ended = false;
  std::atomic<bool> ended_here = false;
  DomainSourceOptions options = Options();
  options.make = [&](const std::string&) {
    return std::make_unique<IdleDomain>(
        [&, reads = std::this_thread::get_id()] {
          if (std::this_thread::get_id() == reads) ended_here = true;
          ended = true;
        });
  };
  options.most = 1;
  source_.emplace(options);
  Read({"a1"});
  Read({"b1"});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!ended && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(ended_here);
  EXPECT_THAT(answers_, ElementsAre("a1 ok", "b1 ok"));
  source_.reset();
}

TEST_F(DomainSourceTest, ManyThreadsMakeADomainOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      ReadRequest request;
      request.root = root_;
      request.object = "a";
      request.done = [](const auto&) {};
      source_->Read({&request, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(book_.made, ElementsAre("a"));
  EXPECT_EQ(asked("a"), 8);
  for (int i = 0; i < 8; ++i) Answer("a");
}

}  // namespace
}  // namespace forebay::storage
