#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/domain_source_fixture.h"

namespace forebay::storage {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::IsEmpty;
using tests::Not;
using tests::UnorderedElementsAre;

// A domain's source that answers every read at once.
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

TEST_CASE_METHOD(DomainSourceTest, "A domain source keeps busy domains",
                 "[storage][domain_source_idle]") {
  Read({"a1"});
  clock_.Advance(std::int64_t{3600} * 1'000'000'000);
  source_->ReleaseIdle();
  CHECK_THAT(book_.ended, IsEmpty());
  Answer("a");
}

TEST_CASE_METHOD(DomainSourceTest,
                 "A domain source releases idle domains after a while",
                 "[storage][domain_source_idle]") {
  std::vector<std::string> ended;
  DomainSourceOptions options = Options();
  options.make = [&ended](const std::string& domain) {
    return std::make_unique<IdleDomain>(
        [&ended, domain] { ended.push_back(domain); });
  };
  source_.emplace(options);
  Read({"a1", "b1"});
  source_->ReleaseIdle();
  CHECK_THAT(ended, IsEmpty());
  clock_.Advance(options.idle_nanos);
  Read({"b2"});
  source_->ReleaseIdle();
  CHECK_THAT(ended, ElementsAre("a"));
  source_->SetWeight(1, 2);  // reaches the source that still exists
  Read({"a2"});
  CHECK(answers_.size() == 4);
  source_.reset();
  CHECK_THAT(ended, UnorderedElementsAre("a", "a", "b"));
}

TEST_CASE_METHOD(
    DomainSourceTest,
    "A further domain takes the place of the one that was idle for longest",
    "[storage][domain_source_idle]") {
  std::vector<std::string> made;
  DomainSourceOptions options = Options();
  options.make =
      [&](const std::string& domain) -> std::unique_ptr<SharedOutSource> {
    made.push_back(domain);
    if (domain == "a") return std::make_unique<PatientDomain>(domain, &book_);
    return std::make_unique<IdleDomain>([] {});
  };
  source_.emplace(options);
  Read({"a1"});  // the read stays in flight
  for (const char* const object : {"b1", "c1", "b2", "d1", "b3"}) {
    clock_.Advance(1);
    Read({object});
  }
  CHECK_THAT(made, ElementsAre("a", "b", "c", "d"));
  CHECK(answers_.size() == 5);
  clock_.Advance(1);
  Read({"c2"});  // the old source of "c" had ended
  CHECK_THAT(made, ElementsAre("a", "b", "c", "d", "c"));
  CHECK_THAT(answers_, Not(Contains("c2 failed")));
  Answer("a");
  source_.reset();
}

// A source may answer a read on its own thread, where the caller may read from
// another domain. The first source must not be destroyed on that thread.
TEST_CASE_METHOD(DomainSourceTest, "A domain ends on no thread that reads",
                 "[storage][domain_source_idle]") {
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
  CHECK(ended);
  CHECK_FALSE(ended_here);
  CHECK_THAT(answers_, ElementsAre("a1 ok", "b1 ok"));
  source_.reset();
}

}  // namespace
}  // namespace forebay::storage
