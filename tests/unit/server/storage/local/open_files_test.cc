#include "server/storage/local/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/storage/local/local_root.h"
#include "tests/unit/server/storage/local/scratch_dir.h"

namespace forebay::storage::local {
namespace {

class OpenFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status status = Ring::Probe(); !status.ok())
      GTEST_SKIP() << status;
    ring_ = *Ring::Create(4);
    ASSERT_TRUE(ring_->Enable().ok());
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
        [](std::uint64_t, int result) { EXPECT_EQ(result, 1); });
    return text;
  }

  const ScratchDir scratch_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<OpenFiles> files_;
  std::shared_ptr<const LocalRoot> root_;
};

TEST_F(OpenFilesTest, FindsWhatIsKept) {
  EXPECT_EQ(files_->Find(Of("a")), nullptr);
  const auto a = Keep("a");
  EXPECT_EQ(files_->Find(Of("a")), a);
  EXPECT_EQ(a->alignment, 512);
  EXPECT_EQ(Read(*a), "a");
  files_->Drop(Of("a"));
  EXPECT_EQ(files_->Find(Of("a")), nullptr);
  EXPECT_EQ(Read(*a), "a");
}

TEST_F(OpenFilesTest, TheLeastRecentlyUsedMakesWay) {
  Keep("a");
  Keep("b");
  files_->Find(Of("a"));
  Keep("c");
  EXPECT_EQ(files_->size(), 2);
  EXPECT_EQ(files_->Find(Of("b")), nullptr);
  EXPECT_EQ(Read(*files_->Find(Of("a"))), "a");
  EXPECT_EQ(Read(*files_->Find(Of("c"))), "c");
}

// Another file must not get the number of one that is being read.
TEST_F(OpenFilesTest, WhatIsReadStays) {
  const auto a = Keep("a");
  const auto b = Keep("b");
  const auto c = Keep("c");
  EXPECT_EQ(files_->Find(Of("c")), nullptr);
  EXPECT_EQ(Read(*c), "c");
  files_->Drop(Of("a"));
  const auto d = Keep("d");
  EXPECT_EQ(files_->Find(Of("d")), d);
  EXPECT_EQ(Read(*a) + Read(*b) + Read(*c) + Read(*d), "abcd");
}

TEST_F(OpenFilesTest, ClosesTheFilesOfRootsThatAreGone) {
  Keep("a");
  files_->DropOrphans();
  EXPECT_EQ(files_->size(), 1);
  root_ = *LocalRoot::Create(scratch_.Open(), scratch_.Path());
  EXPECT_EQ(files_->Find(Of("a")), nullptr);
  files_->DropOrphans();
  EXPECT_EQ(files_->size(), 0);
}

}  // namespace
}  // namespace forebay::storage::local
