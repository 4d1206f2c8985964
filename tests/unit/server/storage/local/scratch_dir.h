#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_SCRATCH_DIR_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_SCRATCH_DIR_H_

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "server/base/fd.h"
#include "tests/catch/temp_dir.h"

namespace forebay::storage::local {

// A directory for one test, which is removed with everything in it.
class ScratchDir {
 public:
  ScratchDir() {
    std::string name = tests::TempDir() + "/forebay_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = std::filesystem::canonical(name);
  }
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  std::string Path(std::string_view below = "") const {
    return (path_ / below).string();
  }

  void Write(std::string_view below, std::string_view content) const {
    std::filesystem::create_directories((path_ / below).parent_path());
    std::ofstream(path_ / below, std::ios::binary) << content;
  }

  void Directory(std::string_view below) const {
    std::filesystem::create_directories(path_ / below);
  }

  void Link(std::string_view below, std::string_view target) const {
    std::filesystem::create_directories((path_ / below).parent_path());
    std::filesystem::create_symlink(target, path_ / below);
  }

  base::Fd Open(std::string_view below = "") const {
    return base::Fd(open(Path(below).c_str(), O_PATH | O_DIRECTORY));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace forebay::storage::local

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_LOCAL_SCRATCH_DIR_H_
