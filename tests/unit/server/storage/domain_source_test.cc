#include "server/storage/domain_source.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/storage/wrong_domain.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/domain_source_fixture.h"

namespace forebay::storage {
namespace {

using tests::ElementsAre;
using tests::HasCode;
using tests::IsEmpty;

TEST_CASE_METHOD(DomainSourceTest,
                 "Each storage domain has a source of its own",
                 "[storage][domain_source]") {
  Read({"a1", "a2", "b1", "a3"});
  Read({"b2"});
  CHECK_THAT(book_.made, ElementsAre("a", "b"));
  CHECK(asked("a") == 3);
  CHECK(asked("b") == 2);
  Answer("b");
  CHECK_THAT(answers_, ElementsAre("b1 ok"));
  for (const char* const domain : {"a", "a", "a", "b"}) Answer(domain);
  CHECK(answers_.size() == 5);
}

TEST_CASE_METHOD(DomainSourceTest,
                 "A read that belongs to another domain is made again there",
                 "[storage][domain_source]") {
  Read({"a1"});
  moved_["a1"] = "b";
  Answer("a", WrongDomain("a1"));
  CHECK_THAT(answers_, IsEmpty());
  CHECK(asked("b") == 1);
  Answer("b");
  CHECK_THAT(answers_, ElementsAre("a1 ok"));
}

TEST_CASE_METHOD(DomainSourceTest,
                 "A job that joined a read has joined it where a domain source "
                 "makes it again",
                 "[storage][domain_source]") {
  ReadRequest request;
  request.root = root_;
  request.object = "a1";
  request.ticket = 7;
  request.done = [](const auto&) {};
  source_->Read({&request, 1});
  source_->Share(7, {.job = 2});
  moved_["a1"] = "b";
  Answer("a", WrongDomain("a1"));
  CHECK_THAT(book_.shared["b"], ElementsAre(7));
  Answer("b");
  // After the read, a job that joins finds nothing to share.
  source_->Share(7, {.job = 3});
}

TEST_CASE_METHOD(DomainSourceTest,
                 "A read that moves between domains again and again fails",
                 "[storage][domain_source]") {
  Read({"a1"});
  for (const char* const next : {"b", "a", "b"}) {
    const std::string now = asked("a") > 0 ? "a" : "b";
    moved_["a1"] = next;
    Answer(now, WrongDomain("a1"));
  }
  CHECK_THAT(answers_, IsEmpty());
  Answer(asked("a") > 0 ? "a" : "b", WrongDomain("a1"));
  CHECK_THAT(answers_, ElementsAre("a1 failed"));
  CHECK_THAT(error_, HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(
    DomainSourceTest,
    "A read of a domain that does not know it is tried there once more",
    "[storage][domain_source]") {
  Read({"a1"});
  Answer("a", WrongDomain("a1"));
  CHECK(asked("a") == 1);
  Answer("a", WrongDomain("a1"));
  CHECK_THAT(answers_, ElementsAre("a1 failed"));
}

TEST_CASE_METHOD(DomainSourceTest,
                 "A domain source refuses further domains beyond its limit",
                 "[storage][domain_source]") {
  Read({"a1", "b1", "c1", "d1", "a2"});
  CHECK_THAT(book_.made, ElementsAre("a", "b", "c"));
  CHECK_THAT(answers_, ElementsAre("d1 failed"));
  CHECK(error_ ==
        absl::UnavailableError(
            "d1: is not read: 3 hosts are read already, the most at once; "
            "end jobs that read from other hosts"));
  CHECK(asked("a") == 2);
  for (const char* const domain : {"a", "a", "b", "c"}) Answer(domain);
}

TEST_CASE_METHOD(
    DomainSourceTest,
    "The limit of a domain source may be that of some domains only",
    "[storage][domain_source]") {
  DomainSourceOptions options = Options();
  options.is_limited = [](const std::string& domain) { return domain < "c"; };
  options.most = 1;
  source_.emplace(options);
  Read({"a1", "b1", "c1", "d1"});
  CHECK_THAT(book_.made, ElementsAre("a", "c", "d"));
  CHECK_THAT(answers_, ElementsAre("b1 failed"));
  for (const char* const domain : {"a", "c", "d"}) Answer(domain);
}

TEST_CASE_METHOD(DomainSourceTest,
                 "A domain whose source could not be made is tried again",
                 "[storage][domain_source]") {
  DomainSourceOptions options = Options();
  bool fails = true;
  options.make =
      [&](const std::string& name) -> std::unique_ptr<SharedOutSource> {
    if (std::exchange(fails, false)) return nullptr;
    return std::make_unique<PatientDomain>(name, &book_);
  };
  source_.emplace(options);
  Read({"a1"});
  CHECK(error_ ==
        absl::UnavailableError("a1: is not read: the system gives the "
                               "daemon no threads"));
  Read({"a1"});
  Answer("a");
  CHECK_THAT(answers_, ElementsAre("a1 failed", "a1 ok"));
  source_.reset();
}

TEST_CASE_METHOD(DomainSourceTest,
                 "Domains that come later know the weights of the jobs",
                 "[storage][domain_source]") {
  Read({"a1"});
  source_->SetWeight(1, 3);
  Read({"b1"});
  CHECK(book_.weights["a"] == 3);
  CHECK(book_.weights["b"] == 3);
  source_->Share(9, {});
  CHECK_THAT(book_.shared["b"], ElementsAre(9));
  Answer("a");
  Answer("b");
}

TEST_CASE_METHOD(DomainSourceTest,
                 "The state of a domain source is the sum over its domains",
                 "[storage][domain_source]") {
  Read({"a1", "a2", "b1"});
  const SourceState state = source_->State();
  CHECK(state.concurrency == 8);
  CHECK(state.in_flight == 3);
  CHECK(state.waiting == 2);
  CHECK(state.stalled == 4);
  CHECK(state.request_cost == 7);
  for (const char* const domain : {"a", "a", "b"}) Answer(domain);
}

TEST_CASE_METHOD(
    DomainSourceTest,
    "Many threads that read from a domain at once make its source once",
    "[storage][domain_source]") {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      ReadRequest request;
      request.root = root_;
      request.object = "a";
      request.done = [](const auto&) {};
      source_->Read({&request, 1});
    });
  }
  for (std::jthread& thread : threads) thread.join();
  CHECK_THAT(book_.made, ElementsAre("a"));
  CHECK(asked("a") == 8);
  for (int i = 0; i < 8; ++i) Answer("a");
}

}  // namespace
}  // namespace forebay::storage
