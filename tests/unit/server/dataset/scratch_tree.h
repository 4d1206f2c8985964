#ifndef FOREBAY_TESTS_UNIT_SERVER_DATASET_SCRATCH_TREE_H_
#define FOREBAY_TESTS_UNIT_SERVER_DATASET_SCRATCH_TREE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/storage/local/local_root.h"

namespace forebay::dataset {

// A directory that is removed with this object. If a system call fails, the
// test program ends. Not thread-safe.
class ScratchTree {
 public:
  ScratchTree();
  ~ScratchTree();
  ScratchTree(const ScratchTree&) = delete;
  ScratchTree& operator=(const ScratchTree&) = delete;

  const std::string& path() const { return path_; }

  // Paths are relative to the tree. Parent directories are created as needed.
  void MakeDirectory(std::string_view path) const;
  void Write(std::string_view path, std::string_view content) const;
  void Link(std::string_view path, std::string_view target) const;
  void MakeFifo(std::string_view path) const;
  void Remove(std::string_view path) const;

  // Opens the tree, or a directory in it, as the daemon opens it for a client.
  std::shared_ptr<const storage::local::LocalRoot> Root(
      std::string_view path = "") const;

 private:
  std::string Under(std::string_view path) const;
  std::string MakeParents(std::string_view path) const;

  std::string path_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_TESTS_UNIT_SERVER_DATASET_SCRATCH_TREE_H_
