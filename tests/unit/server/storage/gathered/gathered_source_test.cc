#include "server/storage/gathered/gathered_source.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/gathered/gathered_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"
#include "tests/unit/server/storage/gathered/turned_pieces.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::storage::gathered {
namespace {

using tests::Contains;
using tests::ElementsAre;
using tests::HasCode;
using tests::IsOk;
using tests::SizeIs;

constexpr std::uint64_t kPiece = 10'000;

std::string Noise(std::size_t length) {
  std::mt19937 random(1);
  std::string text(length, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

class GatheredSourceTest {
 protected:
  GatheredSourceTest() {
    content_ = pieces_->Add("a", turned_);
    version_ = memory_.Put("a", content_);
  }

  // Returns a request whose offset is relative to the end of the file's own
  // bytes.
  ReadRequest Request(std::uint64_t offset, std::uint64_t length) const {
    ReadRequest request;
    request.root = root_;
    request.object = "a";
    request.version = version_;
    request.version.size *= 2;
    request.offset = turned_.size() + offset;
    request.length = length;
    return request;
  }

  const std::string turned_ = Noise(5'000'000);
  const std::shared_ptr<TurnedPieces> pieces_ =
      std::make_shared<TurnedPieces>(kPiece);
  std::string content_;
  MemorySource memory_;
  NotingSource below_{&memory_};
  ObjectVersion version_;
  const std::shared_ptr<const Root> root_ =
      std::make_shared<const GatheredRoot>(memory_.root(), pieces_, "turned");
  GatheredSource source_{&below_, 0};
};

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source gives the bytes of the pieces",
                 "[gathered][gathered_source]") {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t offset = random() % (turned_.size() + 1);
    const std::uint64_t length = std::min<std::uint64_t>(
        i % 10 == 0 ? 4'000'000 : random() % 100'000, turned_.size() - offset);
    const auto read = ReadText(source_, Request(offset, length));
    REQUIRE_THAT(read, IsOk());
    REQUIRE(*read == turned_.substr(offset, length));
  }
  const auto all = ReadText(source_, Request(0, turned_.size()));
  REQUIRE_THAT(all, IsOk());
  CHECK(*all == turned_);
}

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source passes reads of a file's own bytes",
                 "[gathered][gathered_source]") {
  ReadRequest request = Request(0, 100);
  request.offset = 17;
  CHECK(*ReadText(source_, request) == content_.substr(17, 100));
  CHECK_THAT(below_.log(), ElementsAre("a 17+100"));
  // Another file has only its own bytes.
  request = Request(0, 5);
  request.version = memory_.Put("b", "plain");
  request.object = "b";
  request.offset = 0;
  CHECK(*ReadText(source_, request) == "plain");
}

// Coalesced reads may extend from a file's own bytes into the pieces after
// them.
TEST_CASE_METHOD(
    GatheredSourceTest,
    "A gathered source gives a file's own bytes and its pieces in one read",
    "[gathered][gathered_source]") {
  ReadRequest request = Request(0, 300);
  request.offset -= 100;
  CHECK(*ReadText(source_, request) ==
        content_.substr(content_.size() - 100) + turned_.substr(0, 200));
}

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source reads no more than it needs",
                 "[gathered][gathered_source]") {
  REQUIRE_THAT(ReadText(source_, Request(kPiece - 10, 30)), IsOk());
  CHECK_THAT(below_.log(), ElementsAre("a 4999990+10", "a 4980000+20"));
}

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source reads only a few pieces at once",
                 "[gathered][gathered_source]") {
  std::size_t before = 0;
  std::size_t most = 0;
  std::size_t calls = 0;
  below_.set_on_read([&] {
    most = std::max(most, below_.noted().size() - before);
    before = below_.noted().size();
    ++calls;
  });
  REQUIRE_THAT(ReadText(source_, Request(0, 100 * kPiece)), IsOk());
  CHECK(most == GatheredSource::kMostPieces);
  CHECK(calls == 4);  // reads of 32 pieces each
}

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source cuts long pieces into several reads",
                 "[gathered][gathered_source]") {
  const std::string text = Noise(3 << 20);
  const auto pieces = std::make_shared<TurnedPieces>(2 << 20);
  version_ = memory_.Put("a", pieces->Add("a", text));
  ReadRequest request = Request(0, text.size());
  request.root =
      std::make_shared<const GatheredRoot>(memory_.root(), pieces, "long");
  request.offset = text.size();
  CHECK(*ReadText(source_, request) == text);
  for (const auto& noted : below_.noted())
    CHECK(noted.length <= GatheredSource::kMostAtOnce);
}

TEST_CASE_METHOD(
    GatheredSourceTest,
    "A gathered source gives nothing to a reader that has the bytes",
    "[gathered][gathered_source]") {
  const Revision revision = {.inode = 5, .ctime_nanos = 7};
  memory_.Rewrite("a", content_, revision);
  ReadRequest request = Request(1000, 50'000);
  request.unless = revision;
  Revision seen;
  CHECK_THAT(*ReadText(source_, request, &seen), Catch::Equals(""));
  CHECK(seen == revision);
  CHECK_THAT(below_.log(), SizeIs(1));
  request = Request(1000, 50'000);
  request.unless = Revision{.inode = 6};
  CHECK(*ReadText(source_, request, &seen) == turned_.substr(1000, 50'000));
  CHECK(seen == revision);
}

// A writer may restore the file's modification time, and leave its layout
// unchanged.
TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source gives bytes of one revision",
                 "[gathered][gathered_source]") {
  memory_.Rewrite("a", content_, {.inode = 1, .ctime_nanos = 1});
  const std::string other(turned_.rbegin(), turned_.rend());
  below_.set_on_read([&, reads = 0]() mutable {
    if (++reads != 3) return;
    memory_.Rewrite("a", pieces_->Add("a", other),
                    {.inode = 1, .ctime_nanos = 2});
  });
  Revision seen;
  const auto read = ReadText(source_, Request(0, 100 * kPiece), &seen);
  REQUIRE_THAT(read, IsOk());
  CHECK(*read == other.substr(0, 100 * kPiece));
  CHECK(seen == Revision{.inode = 1, .ctime_nanos = 2});
}

TEST_CASE_METHOD(
    GatheredSourceTest,
    "A gathered source gives up if the revision changes again and again",
    "[gathered][gathered_source]") {
  below_.set_on_read([&, ctime = std::int64_t{0}]() mutable {
    memory_.Rewrite("a", content_, {.inode = 1, .ctime_nanos = ++ctime});
  });
  const absl::Status status =
      ReadText(source_, Request(0, 100 * kPiece)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  CHECK(status.message() == "a: is being changed while it is read");
}

TEST_CASE_METHOD(
    GatheredSourceTest,
    "A gathered source refuses ranges and versions other than the file's",
    "[gathered][gathered_source]") {
  CHECK_THAT(ReadText(source_, Request(turned_.size(), 1)),
             HasCode(absl::StatusCode::kInvalidArgument));
  CHECK_THAT(ReadText(source_, Request(1, UINT64_MAX)),
             HasCode(absl::StatusCode::kInvalidArgument));
  memory_.Put("a", content_);  // with another modification time
  CHECK_THAT(ReadText(source_, Request(0, 1)),
             HasCode(absl::StatusCode::kFailedPrecondition));
}

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source names the file that has no such pieces",
                 "[gathered][gathered_source]") {
  pieces_->Add("a", turned_.substr(10));
  const absl::Status status =
      ReadText(source_, Request(turned_.size() - 5, 5)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(), Contains("a: has no such pieces"));
}

TEST_CASE_METHOD(
    GatheredSourceTest,
    "A gathered source shares the reads of all pieces of a request",
    "[gathered][gathered_source]") {
  ReadRequest request = Request(0, 40 * kPiece);
  request.purpose.job = 1;
  request.ticket = 9;
  // Job 2 joins during the second reads.
  below_.set_on_read([this, reads = 0]() mutable {
    if (++reads == 2) source_.Share(9, {.job = 2});
  });
  REQUIRE_THAT(ReadText(source_, std::move(request)), IsOk());
  CHECK(below_.sharers().size() >= 8);
  std::vector<std::uint64_t> tickets;
  for (const auto& noted : below_.noted()) tickets.push_back(noted.ticket);
  CHECK_THAT(tickets, SizeIs(40));
  for (const std::uint64_t shared : below_.shared())
    CHECK_THAT(tickets, Contains(shared));
  std::sort(tickets.begin(), tickets.end());
  CHECK(std::unique(tickets.begin(), tickets.end()) == tickets.end());
}

TEST_CASE_METHOD(GatheredSourceTest,
                 "A gathered source cancels reads that come after its stop",
                 "[gathered][gathered_source]") {
  source_.Stop();
  CHECK_THAT(ReadText(source_, Request(0, 10)),
             HasCode(absl::StatusCode::kCancelled));
}

TEST_CASE_METHOD(GatheredSourceTest, "A gathered source has a root of its own",
                 "[gathered][gathered_source]") {
  CHECK(GatheredSource::Leads(*root_));
  CHECK_FALSE(GatheredSource::Leads(*memory_.root()));
  CHECK(root_->uri() == memory_.root()->uri());
}

}  // namespace
}  // namespace forebay::storage::gathered
