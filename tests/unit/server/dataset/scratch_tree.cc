#include "tests/unit/server/dataset/scratch_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "server/base/check.h"

namespace forebay::dataset {

ScratchTree::ScratchTree() {
  const char* base = std::getenv("TEST_TMPDIR");
  path_ = std::string(base == nullptr ? "/tmp" : base) + "/tree.XXXXXX";
  FOREBAY_CHECK(mkdtemp(path_.data()) != nullptr);
}

ScratchTree::~ScratchTree() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchTree::Under(std::string_view path) const {
  return path.empty() ? path_ : path_ + "/" + std::string(path);
}

std::string ScratchTree::MakeParents(std::string_view path) const {
  const std::filesystem::path whole = Under(path);
  std::filesystem::create_directories(whole.parent_path());
  return whole.string();
}

void ScratchTree::MakeDirectory(std::string_view path) const {
  std::filesystem::create_directories(MakeParents(path));
}

void ScratchTree::Write(std::string_view path, std::string_view content) const {
  std::ofstream file(MakeParents(path), std::ios::binary);
  file << content;
  file.close();
  FOREBAY_CHECK(file.good());
}

void ScratchTree::Link(std::string_view path, std::string_view target) const {
  FOREBAY_CHECK(
      symlink(std::string(target).c_str(), MakeParents(path).c_str()) == 0);
}

void ScratchTree::MakeFifo(std::string_view path) const {
  FOREBAY_CHECK(mkfifo(MakeParents(path).c_str(), 0600) == 0);
}

void ScratchTree::Remove(std::string_view path) const {
  FOREBAY_CHECK(std::filesystem::remove_all(Under(path)) > 0);
}

std::shared_ptr<const storage::local::LocalRoot> ScratchTree::Root(
    std::string_view path) const {
  const std::string whole = Under(path);
  auto root = storage::local::LocalRoot::Create(
      base::Fd(open(whole.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), whole);
  FOREBAY_CHECK(root.ok());
  return *std::move(root);
}

}  // namespace forebay::dataset
