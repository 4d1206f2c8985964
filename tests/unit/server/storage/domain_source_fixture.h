#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_DOMAIN_SOURCE_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_DOMAIN_SOURCE_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/byte_source.h"
#include "server/storage/domain_source.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {

// Records the calls of the sources of all domains. Thread-safe.
struct Book {
  base::Mutex mutex;
  std::map<std::string, std::deque<ReadRequest>> asked;
  std::vector<std::string> made;
  std::vector<std::string> ended;
  std::map<std::string, double> weights;  // weights of job 1
  std::map<std::string, std::vector<std::uint64_t>> shared;
};

// A domain's source, whose reads the test answers.
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

class DomainSourceTest {
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
      REQUIRE_FALSE(book_.asked[domain].empty());
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
  std::map<std::string, std::string> moved_;  // domains of objects that moved
  const std::shared_ptr<const Root> root_ = FakeRoot::Make({.uri = "root"});
  std::vector<std::string> answers_;
  absl::Status error_;
  std::optional<DomainSource> source_;
};

}  // namespace forebay::storage

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_DOMAIN_SOURCE_FIXTURE_H_
