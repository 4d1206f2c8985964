#include "server/storage/local/open_files.h"

#include <fcntl.h>

#include <memory>
#include <string>
#include <utility>

#include "server/storage/local/local_root.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

using tests::IsOk;

class OpenFilesTest {
 protected:
  OpenFilesTest() {
    if (const absl::Status status = Ring::Probe(); !status.ok()) SKIP(status);
    ring_ = *Ring::Create(4);
    REQUIRE_THAT(ring_->Enable(), IsOk());
    files_ = std::make_unique<OpenFiles>(ring_.get(), 2);
    root_ = *LocalRoot::Create(scratch_.Open(), scratch_.Path());
  }

  ReadRequest Of(const std::string& object) const {
    ReadRequest request;
    request.root = root_;
    request.object = object;
    return request;
  }

  std::shared_ptr<const OpenFiles::File> Keep(const std::string& object) {
    scratch_.Write(object, object);
    base::Fd fd(open(scratch_.Path(object).c_str(), O_RDONLY | O_CLOEXEC));
    return files_->Keep(Of(object), {std::move(fd), 512});
  }

  // Returns the byte that the ring reads from the file.
  std::string Read(const OpenFiles::File& file) {
    std::string text(1, '?');
    if (file.number.has_value())
      ring_->Read(1, {static_cast<int>(*file.number), /*registered=*/true},
                  text.data(), 1, 0);
    else
      ring_->Read(1, {file.fd.get()}, text.data(), 1, 0);
    ring_->Submit(/*wait=*/true);
    ring_->TakeCompletions(
        [](std::uint64_t, int result) { CHECK(result == 1); });
    return text;
  }

  const ScratchDir scratch_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<OpenFiles> files_;
  std::shared_ptr<const LocalRoot> root_;
};

TEST_CASE_METHOD(OpenFilesTest, "The table of open files finds what is kept",
                 "[local][open_files]") {
  CHECK(files_->Find(Of("a")) == nullptr);
  const auto a = Keep("a");
  CHECK(files_->Find(Of("a")) == a);
  CHECK(a->alignment == 512);
  CHECK(Read(*a) == "a");
  files_->Drop(Of("a"));
  CHECK(files_->Find(Of("a")) == nullptr);
  CHECK(Read(*a) == "a");
}

TEST_CASE_METHOD(OpenFilesTest,
                 "The least recently used open file makes way for another",
                 "[local][open_files]") {
  Keep("a");
  Keep("b");
  files_->Find(Of("a"));
  Keep("c");
  CHECK(files_->size() == 2);
  CHECK(files_->Find(Of("b")) == nullptr);
  CHECK(Read(*files_->Find(Of("a"))) == "a");
  CHECK(Read(*files_->Find(Of("c"))) == "c");
}

// Another file must not get the number of one that is being read.
TEST_CASE_METHOD(OpenFilesTest, "An open file that is being read stays open",
                 "[local][open_files]") {
  const auto a = Keep("a");
  const auto b = Keep("b");
  const auto c = Keep("c");
  CHECK(files_->Find(Of("c")) == nullptr);
  CHECK(Read(*c) == "c");
  files_->Drop(Of("a"));
  const auto d = Keep("d");
  CHECK(files_->Find(Of("d")) == d);
  CHECK(Read(*a) + Read(*b) + Read(*c) + Read(*d) == "abcd");
}

TEST_CASE_METHOD(
    OpenFilesTest,
    "The table of open files closes the files of roots that are gone",
    "[local][open_files]") {
  Keep("a");
  files_->DropOrphans();
  CHECK(files_->size() == 1);
  root_ = *LocalRoot::Create(scratch_.Open(), scratch_.Path());
  CHECK(files_->Find(Of("a")) == nullptr);
  files_->DropOrphans();
  CHECK(files_->size() == 0);
}

}  // namespace
}  // namespace forebay::storage::local
