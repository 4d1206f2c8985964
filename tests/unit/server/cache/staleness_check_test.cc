// Tests cached entries of objects that may change in place.

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/cache/cache.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/cache/cache_house.h"

namespace forebay::cache {
namespace {

using tests::AllOf;
using tests::Contains;
using tests::ElementsAre;
using tests::IsOk;
using tests::SizeIs;

constexpr std::uint64_t kPlenty = 1 << 20;

// A root that can tell an object's revision only while the test allows it.
class WaveringRoot final : public storage::Root {
 public:
  explicit WaveringRoot(const storage::Root& root)
      : uri_(root.uri()), identity_(root.identity()) {}
  const std::string& uri() const override { return uri_; }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  bool StillHas(const std::string&,
                const storage::ObjectVersion& version) const override {
    if (on_look_) on_look_();
    return sure_ && version.revision == revision_;
  }
  void set_revision(const storage::Revision& revision) { revision_ = revision; }
  void set_sure(bool sure) { sure_ = sure; }
  void set_on_look(std::function<void()> on_look) {
    on_look_ = std::move(on_look);
  }

 private:
  const std::string uri_;
  const std::shared_ptr<const std::string> identity_;
  bool sure_ = false;
  storage::Revision revision_;
  std::function<void()> on_look_;
};

// A source that replaces each request's root by its own, whose revisions the
// test controls.
class AskingSource final : public storage::ByteSource {
 public:
  AskingSource(storage::ByteSource* inner,
               std::shared_ptr<const storage::Root> root)
      : inner_(inner), root_(std::move(root)) {}
  void Read(absl::Span<storage::ReadRequest> requests) override {
    for (storage::ReadRequest& request : requests) {
      request.root = root_;
      lengths_.push_back(request.unless.has_value() ? 0 : request.length);
    }
    inner_->Read(requests);
  }
  // Lengths of all reads in bytes; 0 for reads that only checked a revision.
  const std::vector<std::uint64_t>& lengths() const { return lengths_; }

 private:
  storage::ByteSource* const inner_;
  const std::shared_ptr<const storage::Root> root_;
  std::vector<std::uint64_t> lengths_;
};

class StalenessCheckTest {
 protected:
  StalenessCheckTest() {
    cache_ = *Cache::Create({.capacity = kPlenty, .seed = 1},
                            {.below = &asking_,
                             .budget = &budget_,
                             .next_use = &next_use_,
                             .clock = &clock_,
                             .cpu_clock = &cpu_clock_});
    version_ = memory_.Put("a", "content");
    Read();
  }

  storage::ReadRequest Request() {
    storage::ReadRequest request;
    request.root = root_;
    request.object = "a";
    request.version = version_;
    request.length = version_.size;
    request.purpose.job = 1;
    request.done = Into(&log_, "a", &last_);
    return request;
  }
  void Read() {
    storage::ReadRequest request = Request();
    cache_->Read({&request, 1});
  }

  base::MemoryBudget budget_{kPlenty};
  base::FakeClock clock_;
  base::FakeClock cpu_clock_;
  ScriptedNextUse next_use_;
  storage::MemorySource memory_;
  storage::FaultySource faulty_{&memory_};
  AskingSource asking_{&faulty_, memory_.root()};
  const std::shared_ptr<WaveringRoot> root_ =
      std::make_shared<WaveringRoot>(*memory_.root());
  std::unique_ptr<Cache> cache_;
  storage::ObjectVersion version_;
  storage::ReadResult last_;
  std::string log_;
};

constexpr storage::Revision kAnother = {.inode = 1, .ctime_nanos = 2};

TEST_CASE_METHOD(
    StalenessCheckTest,
    "The cache does not ask the source about an entry that is surely current",
    "[cache][staleness_check]") {
  root_->set_sure(true);
  Read();
  CHECK(log_ == "a:content a:content ");
  CHECK_THAT(asking_.lengths(), ElementsAre(7));
}

TEST_CASE_METHOD(
    StalenessCheckTest,
    "The cache takes a single look at an object for requests in a row",
    "[cache][staleness_check]") {
  root_->set_sure(true);
  int looks = 0;
  root_->set_on_look([&looks] { ++looks; });
  const storage::ObjectVersion b_version = memory_.Put("b", "CONTENT");
  const auto request_for_b = [&] {
    storage::ReadRequest request = Request();
    request.object = "b";
    request.version = b_version;
    request.done = Into(&log_, "b");
    return request;
  };
  storage::ReadRequest b = request_for_b();
  cache_->Read({&b, 1});
  log_.clear();

  std::vector<storage::ReadRequest> requests;
  for (const char object : std::string_view("aababbb"))
    requests.push_back(object == 'a' ? Request() : request_for_b());
  cache_->Read(absl::MakeSpan(requests));
  CHECK(log_ ==
        "a:content a:content b:CONTENT a:content b:CONTENT b:CONTENT "
        "b:CONTENT ");
  CHECK(looks == 4);

  // A change after this read is noticed by the next read.
  memory_.Rewrite("a", "another", kAnother);
  root_->set_revision(kAnother);
  requests.clear();
  for (int i = 0; i < 2; ++i) requests.push_back(Request());
  cache_->Read(absl::MakeSpan(requests));
  CHECK_THAT(log_, Contains("b:CONTENT a:another a:another "));
}

TEST_CASE_METHOD(
    StalenessCheckTest,
    "An answer of no bytes confirms a cache entry that is in doubt",
    "[cache][staleness_check]") {
  const std::uint64_t used = cache_->Snapshot().used;
  faulty_.Hold();
  Read();
  Read();
  CHECK(log_ == "a:content ");
  CHECK(cache_->Snapshot().used == used);
  CHECK(cache_->Snapshot().entries == 0);
  faulty_.Release();
  CHECK(log_ == "a:content a:content a:content ");
  CHECK_THAT(asking_.lengths(), ElementsAre(7, 0));
  const CacheSnapshot snapshot = cache_->Snapshot();
  CHECK(snapshot.used == used);
  CHECK(snapshot.entries == 1);
  CHECK(snapshot.entry_bytes == used);
  CHECK(snapshot.total.memory.reads == 2);
  CHECK(snapshot.total.source.reads == 1);
  root_->set_sure(true);
  Read();
  CHECK_THAT(asking_.lengths(), SizeIs(2));
}

TEST_CASE_METHOD(
    StalenessCheckTest,
    "A cache entry whose object has changed is an error and is gone",
    "[cache][staleness_check]") {
  memory_.Put("a", "another");
  Read();
  CHECK_THAT(log_, Contains("a:content a:FAILED_PRECONDITION: a: "));
  last_ = {};  // releases the bytes of the first read
  CHECK(cache_->Snapshot().used == 0);
  CHECK(cache_->Snapshot().entries == 0);
  CHECK(cache_->Snapshot().total.memory.reads == 0);
  memory_.Remove("a");
  Read();
  CHECK_THAT(log_, Contains("NOT_FOUND"));
}

TEST_CASE_METHOD(
    StalenessCheckTest,
    "An object that has another revision is read anew into the cache",
    "[cache][staleness_check]") {
  root_->set_sure(true);
  memory_.Rewrite("a", "CONTENT", kAnother);
  root_->set_revision(kAnother);
  Read();
  CHECK(log_ == "a:content a:CONTENT ");
  CHECK(last_.revision == kAnother);
  CHECK(cache_->Snapshot().total.source.reads == 2);
  CHECK(cache_->Snapshot().total.memory.reads == 0);
  // From then on, the new bytes are cached with that revision.
  Read();
  last_ = {};
  Read();
  CHECK(log_ == "a:content a:CONTENT a:CONTENT a:CONTENT ");
  CHECK(last_.revision == kAnother);
  CHECK(cache_->Snapshot().total.memory.reads == 1);
  CHECK(cache_->Snapshot().total.source.reads == 3);
}

TEST_CASE_METHOD(StalenessCheckTest,
                 "A reader that wants one revision of an object gets no other "
                 "from the cache",
                 "[cache][staleness_check]") {
  root_->set_sure(true);
  version_.revision = {.inode = 7, .ctime_nanos = 0};
  Read();
  CHECK_THAT(log_, Contains("a:FAILED_PRECONDITION: a: is another file"));
}

// There are two indexes of one shard, from before and after it was rewritten. A
// read for one of them must not answer a read for the other.
TEST_CASE_METHOD(
    StalenessCheckTest,
    "A request for another revision is read alone and joins no read in flight",
    "[cache][staleness_check]") {
  version_ = memory_.Put("b", "content");
  memory_.Rewrite("b", "CONTENT", kAnother);
  const auto read = [this](std::string name, storage::Revision wanted) {
    storage::ReadRequest request = Request();
    request.object = "b";
    request.version.revision = wanted;
    request.done = Into(&log_, std::move(name));
    cache_->Read({&request, 1});
  };
  constexpr storage::Revision kOld = {.inode = 9, .ctime_nanos = 1};
  for (const bool old_first : {true, false}) {
    CAPTURE(old_first);
    log_.clear();
    faulty_.Hold();
    const std::size_t before = asking_.lengths().size();
    read("first", old_first ? kOld : kAnother);
    read("joins", old_first ? kOld : kAnother);
    read("other", old_first ? kAnother : kOld);
    read("any", {});
    CHECK(asking_.lengths().size() == before + 3);
    faulty_.Release();
    const std::string error = "FAILED_PRECONDITION: b: is another file ";
    const std::string first = old_first ? error : "CONTENT ";
    const std::string other = old_first ? "CONTENT " : error;
    CHECK_THAT(log_,
               AllOf(Contains("first:" + first), Contains("joins:" + first),
                     Contains("other:" + other), Contains("any:CONTENT ")));
  }
}

// This is the case of the test above, except that the read in flight began
// after the hit was found.
TEST_CASE_METHOD(
    StalenessCheckTest,
    "A staleness check of another revision is read alone and joins no read",
    "[cache][staleness_check]") {
  memory_.Rewrite("a", "CONTENT", kAnother);
  Read();
  Read();  // from now on the new bytes are cached with that revision
  bool looked = false;
  root_->set_on_look([this, &looked] {
    if (!std::exchange(looked, true)) Read();
  });
  faulty_.Hold();
  log_.clear();
  const std::size_t before = asking_.lengths().size();
  version_.revision = kAnother;
  storage::ReadRequest request = Request();
  request.done = Into(&log_, "own");
  version_.revision = {.inode = 9, .ctime_nanos = 1};
  cache_->Read({&request, 1});
  CHECK(asking_.lengths().size() == before + 2);
  faulty_.Release();
  CHECK(log_ == "a:FAILED_PRECONDITION: a: is another file own:CONTENT ");
}

// A request for another revision does not join the staleness check of a
// variant, either.
TEST_CASE_METHOD(StalenessCheckTest,
                 "A request for another revision does not wait for a variant's "
                 "staleness check",
                 "[cache][staleness_check]") {
  constexpr storage::Variant kVariant = 7;
  next_use_.Want(1, 1000);
  version_.revision = {.inode = 9, .ctime_nanos = 1};
  storage::ReadRequest read = Request();
  read.sample = {1, 1};
  auto buffer = cache_->Reserve({.read = &read,
                                 .revision = version_.revision,
                                 .variant = kVariant,
                                 .bytes = 4,
                                 .saves_nanos = 1'000'000});
  REQUIRE(buffer != nullptr);
  cache_->Insert(std::move(buffer));
  read.variant = kVariant;
  storage::ReadRequest other = read;
  storage::ReadResult given = {.bytes = {}, .variant = 99};
  memory_.Rewrite("a", "CONTENT", kAnother);
  other.version.revision = kAnother;
  other.done = Into(&log_, "other", &given);
  log_.clear();
  faulty_.Hold();
  cache_->Read({&read, 1});
  cache_->Read({&other, 1});
  faulty_.Release();
  CHECK(log_ == "a:FAILED_PRECONDITION: a: is another file other:CONTENT ");
  CHECK(given.variant == storage::kEncoded);
}

TEST_CASE_METHOD(
    StalenessCheckTest,
    "The cache takes back a hit that was none from where it was counted",
    "[cache][staleness_check]") {
  root_->set_on_look([this] { cache_->Forget(1); });
  faulty_.Hold();
  Read();
  CHECK(cache_->Snapshot().jobs.at(1).memory.reads == 0);
  CHECK(cache_->Snapshot().total.memory.reads == 0);
  faulty_.Release();
  CHECK(cache_->Snapshot().jobs.at(1).memory.bytes == 7);
  CHECK(cache_->Snapshot().total.memory.bytes == 7);
}

TEST_CASE_METHOD(StalenessCheckTest,
                 "The cache counts a look at an object as reading time but not "
                 "the readers' work",
                 "[cache][staleness_check]") {
  root_->set_sure(true);
  root_->set_on_look([this] { cpu_clock_.Advance(3); });
  const std::int64_t before = cache_->cpu_nanos();
  storage::ReadRequest requests[] = {Request(), Request()};
  int succeeded = 0;
  for (storage::ReadRequest& request : requests) {
    request.done = [&](const absl::StatusOr<storage::ReadResult>& result) {
      succeeded += result.ok();
      cpu_clock_.Advance(100);
    };
  }
  cache_->Read(absl::MakeSpan(requests));
  CHECK(succeeded == 2);
  CHECK(cpu_clock_.NowNanos() == 203);
  CHECK(cache_->cpu_nanos() - before == 3);
}

}  // namespace
}  // namespace forebay::cache
