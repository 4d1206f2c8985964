#ifndef FOREBAY_SERVER_DATASET_FOLDER_PROBE_H_
#define FOREBAY_SERVER_DATASET_FOLDER_PROBE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace forebay::dataset {

// Tells whether the file system of a folder answers. The folder of indexes may
// lie on a network file system that hangs. All openings use it, but none needs
// it.
//
// Thread-safe; copies share what they know. Asks on a thread of its own, which
// is left to itself if it hangs.
class FolderProbe {
 public:
  struct Options {
    // Asks the file system that a path lies on; returns when it has answered.
    std::function<void(const std::string& path)> ask;
    // The longest wait for an answer.
    std::chrono::nanoseconds patience = std::chrono::seconds(2);
  };

  // By default asks for the file system's free space: network file systems keep
  // no answer to that.
  explicit FolderProbe(std::string folder);
  FolderProbe(std::string folder, Options options);

  // Blocks until there is an answer, but no longer than its patience, and not
  // at all while an earlier question is overdue. UNAVAILABLE, which names the
  // folder: there is none.
  absl::Status Check() const;

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_FOLDER_PROBE_H_
