#ifndef FOREBAY_SERVER_DATASET_FOLDER_PROBE_H_
#define FOREBAY_SERVER_DATASET_FOLDER_PROBE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace forebay::dataset {

// Tells whether the file system of a folder answers. The folder of indexes may
// lie on a network file system that hangs. Openings of datasets use that
// folder, but can do without it.
//
// Thread-safe; copies share one state. Each question has a detached thread of
// its own; a thread that hangs is left alone. Check blocks for at most
// `patience`; the only error of Check is UNAVAILABLE.
class FolderProbe {
 public:
  // How a probe asks, and for how long it waits.
  struct Options {
    // Asks the file system of `path` something. Returns when the file system
    // has answered.
    std::function<void(const std::string& path)> ask;
    // The longest wait for an answer.
    std::chrono::nanoseconds patience = std::chrono::seconds(2);
  };

  // Makes a probe that asks for the file system's free space: network file
  // systems do not cache that answer.
  explicit FolderProbe(std::string folder);
  FolderProbe(std::string folder, Options options);

  // Blocks until the file system has answered, or `patience` is over. Does not
  // block if an earlier question is overdue and unanswered. UNAVAILABLE, naming
  // the folder: there is no answer.
  absl::Status Check() const;

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_FOLDER_PROBE_H_
